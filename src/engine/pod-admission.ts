import { type AdmissionFacts, admitPod } from "../core/admission/admit-pod.ts";
import { podQosClass } from "../core/resource/qos.ts";
import { isTerminalPhase } from "../core/status/phase.ts";
import { formatTime } from "../lib/time.ts";
import { type Pod, podKey } from "../model/pod.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { PodEvents } from "../ports/pod-events.ts";
import type { PodRegistry } from "./pod-registry.ts";
import type { PodStatuses } from "./pod-statuses.ts";
import type { PodWorkers } from "./pod-workers.ts";

export interface PodAdmissionDeps {
  readonly registry: PodRegistry;
  readonly workers: Pick<PodWorkers, "isPodKnownTerminated" | "stateOf">;
  readonly statuses: PodStatuses;
  readonly facts: AdmissionFacts;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: PodEvents;
  /** The runtime has something of the pod: it was admitted once and is not asked again. */
  readonly isHere: (uid: string) => boolean;
}

/** Decides which pods this node runs. */
export class PodAdmission {
  readonly #deps: PodAdmissionDeps;

  constructor(deps: PodAdmissionDeps) {
    this.#deps = deps;
  }

  /** A pod that is refused has its final status afterwards. */
  admit(pod: Pod): boolean {
    const { registry, statuses, facts, clock, log, events, isHere } = this.#deps;
    if (isHere(pod.metadata.uid) || isTerminalPhase(pod.status?.phase)) return true;
    const others = registry
      .list()
      .filter((other) => other.metadata.uid !== pod.metadata.uid && this.isActive(other));
    const result = admitPod(pod, others, facts);
    if (result.admit) return true;
    const { reason, message } = result;
    log.warn("refused a pod", { pod: podKey(pod), reason, message });
    events.record(pod, { type: "Warning", reason, message });
    statuses.set(pod, {
      phase: "Failed",
      reason,
      message: `Pod was rejected: ${message}`,
      startTime: formatTime(clock.nowMs()),
      qosClass: podQosClass(pod),
    });
    return false;
  }

  /** It runs or is to run: it counts for what the node has left. */
  isActive(pod: Pod): boolean {
    const { workers, statuses } = this.#deps;
    const { uid } = pod.metadata;
    if (workers.isPodKnownTerminated(uid)) return false;
    const { phase } = statuses.get(uid) ?? pod.status ?? {};
    return !isTerminalPhase(phase) || workers.stateOf(uid) !== undefined;
  }
}
