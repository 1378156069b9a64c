import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodAdmission } from "../intake/pod-admission.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";

export interface NextLivesDeps {
  readonly registry: Pick<PodRegistry, "mirrorOf" | "set">;
  readonly workers: Pick<PodWorkers, "updatePod">;
  readonly admission: Pick<PodAdmission, "admit">;
  readonly active: Pick<ActivePods, "has">;
  readonly statuses: Pick<PodStatuses, "endLife">;
  readonly metrics: Pick<Metrics, "increment">;
}

/** Pods that came back under their old UID, and wanted pods whose worker was forgotten. */
export class NextLives {
  readonly #deps: NextLivesDeps;

  constructor(deps: NextLivesDeps) {
    this.#deps = deps;
  }

  /** The status of a static pod's last life says nothing about the next: containers that had ended for good begin again. */
  forgetLast(pod: Pod): void {
    const { registry, statuses } = this.#deps;
    statuses.endLife(pod.metadata.uid);
    registry.set({ ...pod, status: undefined });
  }

  /** Without effect for a pod that has ended for good. */
  begin(pod: Pod): void {
    const { registry, workers, admission, active, metrics } = this.#deps;
    if (!active.has(pod.metadata.uid)) return;
    // What its last life was granted is given back: the next one asks for its own.
    if (!admission.admit(pod)) return;
    workers.updatePod({ updateType: "create", pod, mirrorPod: registry.mirrorOf(pod) });
    const labels = { static: isStaticPod(pod) ? "true" : "" };
    metrics.increment("kubelet_restarted_pods_total", labels);
  }
}
