import type { AdmissionResult } from "../../core/admission/admission.ts";
import { type AdmissionFacts, admitPod } from "../../core/admission/admit-pod.ts";
import { preemption, preemptionKill } from "../../core/admission/preemption-kill.ts";
import { podLimits, podRequests } from "../../core/resource/pod-resources.ts";
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
import type { Wakeups } from "../agent/wakeups.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";

export interface PodAdmissionDeps {
  readonly table: PodTable;
  readonly wakeups: Pick<Wakeups, "askToStart">;
  readonly registry: PodRegistry;
  readonly workers: Pick<PodWorkers, "isPodKnownTerminated" | "stateOf" | "killPod">;
  readonly statuses: Pick<PodStatuses, "get" | "set">;
  readonly facts: () => AdmissionFacts;
  /** Whether the node, as short of something as it is, takes the pod. */
  readonly admitUnderPressure: (pod: Pod) => AdmissionResult;
  readonly allocations: Pick<PodAllocations, "admit" | "grant">;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note" | "attempt">;
  /** The runtime has something of the pod: it was admitted once and is not asked again. */
  readonly isHere: (uid: string) => boolean;
  readonly metrics: Pick<Metrics, "increment">;
  readonly lifetime: AbortSignal;
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Decides which pods this node runs, and ends those whose place a critical pod needs. */
export class PodAdmission {
  readonly #deps: PodAdmissionDeps;
  readonly #preemptions: SliceWriter<"admission">;
  /** Specs that can be counted: nothing of them throws. */
  readonly #countable = new WeakSet<object>();
  /** Pods that were refused and could not even be given a status. */
  readonly #unfit = new WeakSet<Pod>();

  constructor(deps: PodAdmissionDeps) {
    this.#deps = deps;
    this.#preemptions = deps.table.writer("admission");
  }

  /** A pod that is refused has its final status afterwards. */
  admit(pod: Pod): boolean {
    const { allocations, isHere } = this.#deps;
    const { uid } = pod.metadata;
    if (isTerminalPhase(pod.status?.phase)) return true;
    if (isHere(uid)) {
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
    const pressed = this.#deps.admitUnderPressure(pod);
    if (!pressed.admit) return pressed;
    const { result, victims } = admitPod(pod, others, this.#deps.facts());
    if (victims.length > 0) {
      this.#makeRoom(pod, victims).catch((error: unknown) =>
        this.#deps.faults.note(error, "admission", pod.metadata.uid),
      );
    }
    return result;
  }

  /** The pods that hold or will hold resources, each with its newest status. */
  activePods(): readonly Pod[] {
    const { registry, statuses } = this.#deps;
    return registry
      .list()
      .filter(
        (pod) =>
          this.#preemptions.get(pod.metadata.uid)?.roomFor === undefined && this.isActive(pod),
      )
      .filter((pod) => this.#isCountable(pod))
      .map((pod) => ({ ...pod, status: statuses.get(pod.metadata.uid) ?? pod.status }));
  }

  /** It runs or is to run: it counts for what the node has left. */
  isActive(pod: Pod): boolean {
    const { workers, statuses } = this.#deps;
    const { uid } = pod.metadata;
    if (workers.isPodKnownTerminated(uid) || this.#unfit.has(pod)) return false;
    const { phase } = statuses.get(uid) ?? pod.status ?? {};
    return !isTerminalPhase(phase) || workers.stateOf(uid) !== undefined;
  }

  /** A pod whose spec throws when it is counted takes nothing from others; it is not admitted itself. */
  #isCountable(pod: Pod): boolean {
    if (this.#countable.has(pod.spec)) return true;
    const { uid } = pod.metadata;
    const facts = this.#deps.faults.attempt("admission", uid, () => [
      podRequests(pod),
      podLimits(pod),
      podQosClass(pod),
      pod.spec.priority,
    ]);
    if (facts !== undefined) this.#countable.add(pod.spec);
    return facts !== undefined;
  }

  #tryRefuse(pod: Pod, refusal: Refusal): void {
    try {
      this.#refuse(pod, refusal);
    } catch (error) {
      this.#unfit.add(pod);
      this.#deps.faults.note(error, "admission", pod.metadata.uid);
    }
  }

  #refuse(pod: Pod, { reason, message }: Refusal): void {
    const { statuses, clock, log, metrics, events, faults } = this.#deps;
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
    for (const { metadata } of victims) this.#preemptions.set(metadata.uid, { roomFor: uid });
    for (const [index, victim] of victims.entries()) {
      this.#preemptions.set(uid, { roomFrom: victims.slice(index).map(podKey) });
      await this.#preempt(pod, victim);
      this.#preemptions.set(victim.metadata.uid, undefined);
    }
    this.#preemptions.set(uid, undefined);
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
