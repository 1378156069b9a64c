import { errorText } from "../lib/error-text.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";

const recheckMs = 1_000;

/** Whether the runtime and its network can be worked with; asks again while they cannot. */
export class RuntimeHealth {
  readonly #runtime: Pick<ContainerRuntime, "status">;
  readonly #clock: Clock;
  #listProblem: string | undefined = "the container runtime has not answered yet";
  #statusProblem: string | undefined;
  #networkProblem: string | undefined;

  constructor(runtime: Pick<ContainerRuntime, "status">, clock: Clock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  get problem(): string | undefined {
    return this.#listProblem ?? this.#statusProblem;
  }

  get networkProblem(): string | undefined {
    return this.#networkProblem;
  }

  /** Told what a listing of the runtime found. */
  note(problem: string | undefined): void {
    this.#listProblem = problem;
  }

  /** Follows the runtime's own conditions until they are all met, again after each loss. */
  async run(onReady: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wasReady = this.#networkProblem === undefined;
      await this.#check(signal);
      if (!wasReady && this.#networkProblem === undefined) onReady();
      const settled = this.#networkProblem === undefined && this.problem === undefined;
      await this.#clock.sleep(settled ? 60 * recheckMs : recheckMs, signal).catch(() => undefined);
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    try {
      const { status } = await this.#runtime.status(false, signal);
      this.#statusProblem = undefined;
      const network = status?.conditions?.find(({ type }) => type === "NetworkReady");
      this.#networkProblem =
        network?.status === true
          ? undefined
          : `container runtime network not ready: NetworkReady=false reason:${network?.reason ?? ""} message:${network?.message ?? ""}`;
    } catch (error) {
      if (!signal.aborted) this.#statusProblem = errorText(error);
    }
  }
}
