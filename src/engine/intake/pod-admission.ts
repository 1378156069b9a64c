import type { AdmissionResult } from "../../core/admission/admission.ts";
import { type AdmissionFacts, admitPod } from "../../core/admission/admit-pod.ts";
import { preemption, preemptionKill } from "../../core/admission/preemption-kill.ts";
import { podQosClass } from "../../core/resource/qos.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import { errorText } from "../../lib/error-text.ts";
import { formatTime } from "../../lib/time.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { Faults } from "../agent/faults.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";

export interface PodAdmissionDeps {
  readonly table: PodTable;
  readonly workers: Pick<PodWorkers, "killPod" | "askToStart">;
  readonly statuses: Pick<PodStatuses, "set">;
  readonly observed: Pick<ObservedPods, "has">;
  readonly allocations: Pick<PodAllocations, "admit" | "grant">;
  readonly node: AdmittingNode;
  readonly ports: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics };
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note" | "attempt">;
  readonly lifetime: AbortSignal;
}

interface AdmittingNode {
  facts(): AdmissionFacts;
  /** Whether the node, as short of something as it is, takes the pod. */
  admitUnderPressure(pod: Pod): AdmissionResult;
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Decides which pods this node runs, and ends those whose place a critical pod needs. */
export class PodAdmission {
  readonly #deps: PodAdmissionDeps;
  readonly #states: SliceWriter<"admission">;

  constructor(deps: PodAdmissionDeps) {
    this.#deps = deps;
    this.#states = deps.table.writer("admission");
  }

  /** A pod that is refused has its final status afterwards. */
  admit(pod: Pod): boolean {
    const { allocations, observed } = this.#deps;
    const { uid } = pod.metadata;
    if (isTerminalPhase(pod.status?.phase)) return true;
    // What the runtime has was admitted once, and is not asked again.
    if (observed.has(uid)) {
      this.#deps.faults.attempt("admission", uid, () => allocations.grant(pod));
      return true;
    }
    const result = this.#decide(pod);
    if (!result.admit) this.#tryRefuse(pod, result);
    return result.admit;
  }

  /** A pod that cannot be judged is refused, as a kubelet does: it must not keep others from being admitted. */
  #decide(pod: Pod): AdmissionResult {
    try {
      return this.#deps.allocations.admit(pod);
    } catch (error) {
      this.#deps.faults.note(error, "admission", pod.metadata.uid);
      const message = `Unexpected error while attempting to admit the pod: ${errorText(error)}`;
      return { admit: false, reason: "UnexpectedAdmissionError", message };
    }
  }

  /** Whether a pod fits beside others; where it is critical, room is made for it. */
  fits(pod: Pod, others: readonly Pod[]): AdmissionResult {
    const pressed = this.#deps.node.admitUnderPressure(pod);
    if (!pressed.admit) return pressed;
    const { result, victims } = admitPod(pod, others, this.#deps.node.facts());
    if (victims.length > 0) {
      this.#makeRoom(pod, victims).catch((error: unknown) =>
        this.#deps.faults.note(error, "admission", pod.metadata.uid),
      );
    }
    return result;
  }

  #tryRefuse(pod: Pod, refusal: Refusal): void {
    try {
      this.#refuse(pod, refusal);
    } catch (error) {
      this.#states.set(pod.metadata.uid, { unfit: pod });
      this.#deps.faults.note(error, "admission", pod.metadata.uid);
    }
  }

  #refuse(pod: Pod, { reason, message }: Refusal): void {
    const { statuses, ports, events, faults } = this.#deps;
    const { clock, log, metrics } = ports;
    log.warn("refused a pod", { pod: podKey(pod), reason, message });
    metrics.increment("kubelet_admission_rejections_total", { reason });
    events.record(pod, { type: "Warning", reason, message });
    statuses.set(pod, {
      phase: "Failed",
      reason,
      message: `Pod was rejected: ${message}`,
      startTime: formatTime(clock.nowMs()),
      qosClass: faults.attempt("admission", pod.metadata.uid, () => podQosClass(pod)),
    });
  }

  async #makeRoom(pod: Pod, victims: readonly Pod[]): Promise<void> {
    const { uid } = pod.metadata;
    for (const { metadata } of victims) this.#states.set(metadata.uid, { roomFor: uid });
    for (const [index, victim] of victims.entries()) {
      this.#states.set(uid, { roomFrom: victims.slice(index).map(podKey) });
      await this.#preempt(pod, victim);
      this.#states.set(victim.metadata.uid, undefined);
    }
    this.#states.set(uid, undefined);
    this.#deps.workers.askToStart();
  }

  async #preempt(pod: Pod, victim: Pod): Promise<void> {
    const { workers, ports, events, lifetime } = this.#deps;
    const { log, metrics } = ports;
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
