const scheduler = "the scheduler's business: this pod is already placed";

/** Why a field has no effect on any node, here as in Kubernetes; by type and field. */
export const ignoredFields: ReadonlyMap<string, string> = new Map([
  ["Affinity.podAffinity", scheduler],
  ["Affinity.podAntiAffinity", scheduler],
  ["NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", scheduler],
  [
    "PodSpec.automountServiceAccountToken",
    "the API server's business: it adds the volume of the token to the pod",
  ],
  ["PodSpec.preemptionPolicy", scheduler],
  ["PodSpec.schedulerName", scheduler],
  [
    "PodSpec.schedulingGates",
    "the scheduler's business: a pod that is placed has none, and a manifest with one is invalid",
  ],
  ["PodSpec.schedulingGroup", scheduler],
  ["PodSpec.topologySpreadConstraints", scheduler],
  [
    "Toleration.tolerationSeconds",
    "the taint controller's business: a node never evicts for a taint",
  ],
]);
