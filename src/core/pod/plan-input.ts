import type { BackoffLimits } from "../../lib/backoff.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { ProbeResults } from "../../model/probe.ts";
import type { RestartHistory } from "../restart/crash-loop-backoff.ts";

/** Everything a pod plan is decided from. */
export interface PlanPodInput {
  readonly pod: Pod;
  /** Leftovers included. */
  readonly observed: ObservedPod;
  readonly nowMs: number;
  readonly livenessResults: ProbeResults;
  readonly startupResults: ProbeResults;
  /** A restart rule asked for all containers of the pod to start over. */
  readonly restartAllContainers: boolean;
  readonly actuatedResources: ActuatedResources;
  readonly restarts: { readonly history: RestartHistory; readonly limits: BackoffLimits };
  /** The pod's cgroup is missing while its containers run: they escape its limits. */
  readonly runsOutsideCgroup: boolean;
}

/** The resources that were last applied to the pod; what is missing counts as none. */
interface ActuatedResources {
  /** By container name. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly pod?: ResourceRequirements | undefined;
}
