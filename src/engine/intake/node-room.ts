import type { AdmissionResult } from "../../core/admission/admission.ts";
import {
  type AdmissionFacts,
  admitPod,
  type PodAdmissionDecision,
} from "../../core/admission/admit-pod.ts";
import type { Pod } from "../../model/pod.ts";
import type { DeviceStore } from "../devices/device-store.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { Preemption } from "./preemption.ts";

/** A state of the node in which it takes no pods, or not all of them. */
interface NodeCheck {
  admit(pod: Pod): AdmissionResult;
}

export interface NodeRoomDeps {
  readonly active: Pick<ActivePods, "listGranted">;
  /** Asked in this order: the node shuts down, the node is short of something. */
  readonly checks: readonly NodeCheck[];
  readonly facts: Omit<AdmissionFacts, "node">;
  readonly node: Pick<KnownNode, "current">;
  readonly preemption: Pick<Preemption, "makeRoom">;
  readonly deviceStore: Pick<DeviceStore, "nodeFor">;
}

/** What is left on the node, and for whom. */
export class NodeRoom {
  readonly #deps: NodeRoomDeps;

  constructor(deps: NodeRoomDeps) {
    this.#deps = deps;
  }

  /** Whether the pod fits beside those that hold resources; where it is critical, room is made for it. */
  fits(pod: Pod): AdmissionResult {
    const { uid } = pod.metadata;
    const others = this.#deps.active.listGranted().filter(({ metadata }) => metadata.uid !== uid);
    const { result, victims } = this.judge(pod, others);
    if (victims.length > 0) this.#deps.preemption.makeRoom(pod, victims);
    return result;
  }

  /** The same beside the others that are given, without doing anything. */
  judge(pod: Pod, others: readonly Pod[]): PodAdmissionDecision {
    const { checks, facts, deviceStore } = this.#deps;
    for (const check of checks) {
      const result = check.admit(pod);
      if (!result.admit) return { result, victims: [] };
    }
    const node = deviceStore.nodeFor(pod.metadata.uid, this.#deps.node.current);
    return admitPod(pod, others, { ...facts, node });
  }
}
