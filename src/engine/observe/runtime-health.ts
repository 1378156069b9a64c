import { errorText } from "../../lib/error-text.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { RuntimeFeatures, RuntimeHandler, StatusResponse } from "../../model/generated/cri.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

const recheckMs = 1_000;
/** A runtime that is lost is noticed by its events and listings; this is for what it only tells when asked. */
const settledRecheckMs = 30_000;
/** A runtime that has not answered for so long is down; less is a hiccup that a node does not become unready for. */
const downAfterMs = 30_000;

/** What the runtime tells of itself, as far as its node passes it on. */
export interface RuntimeReport {
  /** Why the node is not ready. */
  readonly problems: readonly string[];
  readonly handlers: readonly RuntimeHandler[];
  readonly features: RuntimeFeatures | undefined;
}

export interface RuntimeHealthListeners {
  /** `report` says something else than before. */
  readonly onReport?: () => void;
  /** The runtime can be worked with, for the first time or again. */
  readonly onWell?: () => void;
}

/** Whether the runtime and its network can be worked with; asks again while they cannot. */
export class RuntimeHealth {
  readonly #runtime: Pick<ContainerRuntime, "status">;
  readonly #clock: Clock;
  readonly #listeners: RuntimeHealthListeners;
  #listProblem: string | undefined = "the container runtime has not answered yet";
  #statusProblem: string | undefined;
  #networkProblem: string | undefined;
  #notReadyProblem: string | undefined;
  #hasAnswered = false;
  /** Since when a question about its status is open or went wrong. */
  #unansweredSinceMs: number | undefined;
  #handlers: readonly RuntimeHandler[] = [];
  #features: RuntimeFeatures | undefined;
  #toldReport = "";
  readonly #lost: WakeUp;

  constructor(
    runtime: Pick<ContainerRuntime, "status">,
    clock: Clock,
    listeners: RuntimeHealthListeners = {},
  ) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#lost = new WakeUp(clock);
    this.#listeners = listeners;
  }

  get problem(): string | undefined {
    return this.#listProblem ?? this.#statusProblem ?? this.#notReadyProblem;
  }

  get networkProblem(): string | undefined {
    return this.#networkProblem;
  }

  /** What the node tells of the runtime now. */
  get report(): RuntimeReport {
    const problems = [this.#silence(), this.#notReadyProblem, this.#networkProblem];
    return {
      problems: problems.filter((problem) => problem !== undefined),
      handlers: this.#handlers,
      features: this.#features,
    };
  }

  /** Told what a listing of the runtime found. */
  note(problem: string | undefined): void {
    const isNews = problem !== undefined && this.#listProblem === undefined;
    const wasWell = this.problem === undefined;
    this.#listProblem = problem;
    if (isNews) this.#lost.notify();
    this.#tellIfWell(wasWell);
  }

  /** Follows the runtime's own conditions until they are all met, again after each loss. */
  async run(onReady: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wasReady = this.#networkProblem === undefined;
      const wasWell = this.problem === undefined;
      await this.#check(signal);
      this.#tellIfWell(wasWell);
      this.#tellReport();
      if (!wasReady && this.#networkProblem === undefined) onReady();
      const settled = this.#networkProblem === undefined && this.problem === undefined;
      // Sooner when the runtime seems to be lost.
      await this.#lost.wait(settled ? settledRecheckMs : recheckMs, signal);
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    this.#unansweredSinceMs ??= this.#clock.monotonicMs();
    try {
      const answer = await this.#runtime.status(false, signal);
      this.#statusProblem = undefined;
      this.#hasAnswered = true;
      this.#unansweredSinceMs = undefined;
      this.#handlers = answer.runtimeHandlers ?? [];
      this.#features = answer.features;
      this.#notReadyProblem = notReadyProblem(answer);
      this.#networkProblem = networkProblem(answer);
    } catch (error) {
      if (!signal.aborted) this.#statusProblem = errorText(error);
    }
  }

  #tellIfWell(wasWell: boolean): void {
    if (!wasWell && this.problem === undefined) this.#listeners.onWell?.();
  }

  #tellReport(): void {
    const report = JSON.stringify(this.report);
    if (report !== this.#toldReport) this.#listeners.onReport?.();
    this.#toldReport = report;
  }

  #silence(): string | undefined {
    if (!this.#hasAnswered) {
      return "container runtime status check may not have completed yet";
    }
    const nowMs = this.#clock.monotonicMs();
    return nowMs - (this.#unansweredSinceMs ?? nowMs) >= downAfterMs
      ? "container runtime is down"
      : undefined;
  }
}

function notReadyProblem({ status }: StatusResponse): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "RuntimeReady");
  if (ready === undefined || ready.status === true) return undefined;
  return `container runtime not ready: RuntimeReady=false reason:${ready.reason ?? ""} message:${ready.message ?? ""}`;
}

function networkProblem({ status }: StatusResponse): string | undefined {
  const network = status?.conditions?.find(({ type }) => type === "NetworkReady");
  if (network?.status === true) return undefined;
  return `container runtime network not ready: NetworkReady=false reason:${network?.reason ?? ""} message:${network?.message ?? ""}`;
}
