import type { AdmissionResult } from "../../core/admission/admission.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { AgentPorts } from "../agent/agent-ports.ts";
import type { Faults } from "../agent/faults.ts";
import type { DeviceAdmission } from "../devices/device-admission.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { rejectPod } from "../status/reject-pod.ts";

export interface PodAdmissionDeps {
  readonly table: PodTable;
  readonly allocations: Pick<PodAllocations, "admit" | "grant">;
  readonly observed: Pick<ObservedPods, "has">;
  readonly statuses: Pick<PodStatuses, "set">;
  readonly devices: Pick<DeviceAdmission, "admit" | "adopt">;
  readonly workers: Pick<PodWorkers, "updatePod">;
  readonly ports: Pick<AgentPorts, "clock" | "log" | "metrics">;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "note" | "attempt">;
}

type Refusal = Pick<Exclude<AdmissionResult, { readonly admit: true }>, "reason" | "message">;

/** Decides which pods this node runs. */
export class PodAdmission {
  readonly #deps: PodAdmissionDeps;
  readonly #unfit: SliceWriter<"unfit">;

  constructor(deps: PodAdmissionDeps) {
    this.#deps = deps;
    this.#unfit = deps.table.writer("unfit");
  }

  /** A pod that is refused has its final status afterwards. */
  admit(pod: Pod): boolean {
    const { allocations, observed, devices, faults } = this.#deps;
    const { uid } = pod.metadata;
    if (isTerminalPhase(pod.status?.phase)) return true;
    // One of which the runtime has anything was admitted once and is not asked again (ADR 30).
    if (observed.has(uid)) {
      faults.attempt("admission", uid, () => allocations.grant(pod));
      faults.attempt("admission", uid, () => devices.adopt(pod));
      return true;
    }
    // One that was deleted before it came here never begins: its worker ends it, which a refusal would not.
    if (pod.metadata.deletionTimestamp !== undefined) return true;
    const result = this.#decide(pod);
    if (result.admit) devices.admit(pod, (failure) => this.#refuseLate(pod, failure));
    else this.#refuse(pod, result);
    return result.admit;
  }

  /** The pod has a worker by now, which did not begin. */
  #refuseLate(pod: Pod, failure: Refusal): void {
    this.#refuse(pod, failure);
    this.#deps.workers.updatePod({ updateType: "kill", pod, kill: { evict: true } });
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

  #refuse(pod: Pod, refusal: Refusal): void {
    const { ports, faults } = this.#deps;
    const { uid } = pod.metadata;
    try {
      rejectPod({ ...this.#deps, ...ports }, pod, refusal);
    } catch (error) {
      this.#unfit.set(uid, pod);
      faults.note(error, "admission", uid);
    }
  }
}
