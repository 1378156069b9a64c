import type { ProbeResult, ProbeResults } from "../../model/probe.ts";

export interface ProbeUpdate {
  readonly podUid: string;
  readonly containerId: string;
  readonly result: ProbeResult;
}

/** The results of one kind of probe, by container id. */
export class ProbeResultStore {
  readonly #results = new Map<string, ProbeResult>();
  readonly #onUpdate: (update: ProbeUpdate) => void;

  /** `onUpdate` is told of every result that differs from the one before, but not of removals. */
  constructor(onUpdate: (update: ProbeUpdate) => void) {
    this.#onUpdate = onUpdate;
  }

  get results(): ProbeResults {
    return this.#results;
  }

  set(update: ProbeUpdate): void {
    const { containerId, result } = update;
    if (this.#results.get(containerId) === result) return;
    this.#results.set(containerId, result);
    this.#onUpdate(update);
  }

  remove(containerId: string): void {
    this.#results.delete(containerId);
  }
}
