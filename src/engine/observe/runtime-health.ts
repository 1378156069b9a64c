import { errorText } from "../../lib/error-text.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import type { RuntimeFeatures, RuntimeHandler, StatusResponse } from "../../model/generated/cri.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable } from "../pods/pod-table.ts";

const recheckMs = 1_000;
/** A runtime that is lost is noticed by its events and listings; this is for what it only reports when asked. */
const settledRecheckMs = 30_000;
/** A runtime that has not answered for this long is down; a shorter outage does not make the node unready. */
const downAfterMs = 30_000;

/** What the runtime reports of itself, as far as its node passes it on. */
export interface RuntimeReport {
  /** Why the node is not ready. */
  readonly problems: readonly string[];
  readonly handlers: readonly RuntimeHandler[];
  readonly features: RuntimeFeatures | undefined;
}

export interface RuntimeHealthDeps {
  readonly runtime: Pick<ContainerRuntime, "status">;
  readonly clock: Clock;
  readonly table: Pick<PodTable, "all">;
  readonly wakeups: Pick<Wakeups, "look" | "resume" | "updateNode">;
}

/** Whether the runtime and its network can be worked with; asks again while they cannot. */
export class RuntimeHealth {
  readonly #deps: RuntimeHealthDeps;
  #listProblem: string | undefined = "the container runtime has not answered yet";
  #statusProblem: string | undefined;
  #networkProblem: string | undefined;
  #notReadyProblem: string | undefined;
  #hasAnswered = false;
  /** Since when a question about its status is open or went wrong. */
  #unansweredSinceMs: number | undefined;
  #handlers: readonly RuntimeHandler[] = [];
  #features: RuntimeFeatures | undefined;
  #lastReport = "";
  readonly #lost: WakeUp;

  constructor(deps: RuntimeHealthDeps) {
    this.#deps = deps;
    this.#lost = new WakeUp(deps.clock);
  }

  get problem(): string | undefined {
    return this.#listProblem ?? this.#statusProblem ?? this.#notReadyProblem;
  }

  get networkProblem(): string | undefined {
    return this.#networkProblem;
  }

  /** The runtime's handlers, as it last listed them. */
  get handlers(): readonly RuntimeHandler[] {
    return this.#handlers;
  }

  /** What the node reports of the runtime now. */
  get report(): RuntimeReport {
    const problems = [this.#silence(), this.#notReadyProblem, this.#networkProblem];
    return {
      problems: problems.filter((problem) => problem !== undefined),
      handlers: this.#handlers,
      features: this.#features,
    };
  }

  /** Takes in what a listing of the runtime, or a subscription to its events, found. */
  note(problem: string | undefined): void {
    const isNews = problem !== undefined && this.#listProblem === undefined;
    const wasWell = this.problem === undefined;
    this.#listProblem = problem;
    if (isNews) this.#lost.notify();
    this.#resumeIfWell(wasWell);
  }

  /** Follows the runtime's own conditions until they are all met, again after each loss. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wasReady = this.#networkProblem === undefined;
      const wasWell = this.problem === undefined;
      await this.#check(signal);
      this.#resumeIfWell(wasWell);
      this.#updateNodeIfChanged();
      if (!wasReady && this.#networkProblem === undefined) this.#lookAtAll();
      const settled = this.#networkProblem === undefined && this.problem === undefined;
      // Sooner when the runtime seems to be lost.
      await this.#lost.wait(settled ? settledRecheckMs : recheckMs, signal);
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    this.#unansweredSinceMs ??= this.#deps.clock.monotonicMs();
    try {
      const answer = await this.#deps.runtime.status(false, signal);
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

  #resumeIfWell(wasWell: boolean): void {
    if (!wasWell && this.problem === undefined) this.#deps.wakeups.resume();
  }

  #updateNodeIfChanged(): void {
    const report = JSON.stringify(this.report);
    if (report !== this.#lastReport) this.#deps.wakeups.updateNode();
    this.#lastReport = report;
  }

  #lookAtAll(): void {
    for (const { uid, wanted } of this.#deps.table.all()) {
      if (wanted !== undefined) this.#deps.wakeups.look(uid);
    }
  }

  #silence(): string | undefined {
    if (!this.#hasAnswered) {
      return "container runtime status check may not have completed yet";
    }
    const nowMs = this.#deps.clock.monotonicMs();
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
