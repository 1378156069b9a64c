import { isDoneWithin } from "../../lib/deadline.ts";
import type { Clock } from "../../ports/clock.ts";
import type { StepOutcome } from "./step-report.ts";

const patienceMs = 5_000;

/**
 * Calls that end leftovers of pods that are to run. A pod waits only a moment for each: a call that hangs goes on beside
 * the pod's other work until its own deadline, and no second one is made meanwhile.
 */
export class LeftoverEnds {
  readonly #clock: Clock;
  readonly #running = new Map<string, Promise<StepOutcome>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `id`: of the sandbox or container. `code`: of the failure that one is reported with that hangs. */
  async attempt(
    { id, code }: { readonly id: string; readonly code: string },
    end: () => Promise<StepOutcome>,
    signal: AbortSignal,
  ): Promise<StepOutcome> {
    const running = this.#running.get(id) ?? this.#begin(id, end);
    if (await isDoneWithin(this.#clock, running, patienceMs, signal)) return running;
    signal.throwIfAborted();
    const message = `the runtime has not answered for ${patienceMs / 1000} s; the call goes on`;
    return { failure: { code, message } };
  }

  #begin(id: string, end: () => Promise<StepOutcome>): Promise<StepOutcome> {
    const running = end().finally(() => this.#running.delete(id));
    this.#running.set(id, running);
    return running;
  }
}
