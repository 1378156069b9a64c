import { preemption, preemptionKill } from "../../core/admission/preemption-kill.ts";
import { errorText } from "../../lib/error-text.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";

export interface PreemptionDeps {
  readonly table: PodTable;
  readonly workers: Pick<PodWorkers, "killPod">;
  readonly wakeups: Pick<Wakeups, "askToStart">;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "increment">;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note">;
  readonly lifetime: AbortSignal;
}

/** Ends pods whose place a critical pod needs, which waits for that. */
export class Preemption {
  readonly #deps: PreemptionDeps;
  readonly #slice: SliceWriter<"admission">;

  constructor(deps: PreemptionDeps) {
    this.#deps = deps;
    this.#slice = deps.table.writer("admission");
  }

  /** Returns at once; the pod is held back until all victims have ended. */
  makeRoom(pod: Pod, victims: readonly Pod[]): void {
    this.#end(pod, victims).catch((error: unknown) =>
      this.#deps.faults.note(error, "admission", pod.metadata.uid),
    );
  }

  async #end(pod: Pod, victims: readonly Pod[]): Promise<void> {
    const { uid } = pod.metadata;
    for (const { metadata } of victims) this.#slice.set(metadata.uid, { roomFor: uid });
    for (const [index, victim] of victims.entries()) {
      this.#slice.set(uid, { roomFrom: victims.slice(index).map(podKey) });
      await this.#preempt(pod, victim);
      this.#slice.set(victim.metadata.uid, undefined);
    }
    this.#slice.set(uid, undefined);
    this.#deps.wakeups.askToStart();
  }

  async #preempt(pod: Pod, victim: Pod): Promise<void> {
    const { workers, log, metrics, events, lifetime } = this.#deps;
    log.warn("ending a pod for a critical one", { pod: podKey(victim), for: podKey(pod) });
    events.record(victim, { type: "Warning", ...preemption });
    metrics.increment("kubelet_preemptions", { preemption_signal: "" });
    const reason = preemptionKill(victim);
    try {
      await workers.killPod(victim, { evict: true, reason }, lifetime);
    } catch (error) {
      // Its worker goes on trying; meanwhile the critical pod starts without the room.
      log.warn("cannot end a pod", { pod: podKey(victim), error: errorText(error) });
    }
  }
}
