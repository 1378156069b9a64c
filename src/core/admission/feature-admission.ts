import type { Pod } from "../../model/pod.ts";
import { type AdmissionResult, admitted, rejected } from "./admission.ts";

/** Features that a pod may need, and that a node declares in its status when it has them. */
const declaredFeatures: readonly {
  readonly name: string;
  readonly isNeeded: (pod: Pod) => boolean;
}[] = [
  {
    name: "RestartAllContainersOnContainerExits",
    isNeeded: ({ spec }) =>
      [...spec.containers, ...(spec.initContainers ?? [])].some(({ restartPolicyRules = [] }) =>
        restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
      ),
  },
  {
    name: "UserNamespacesHostNetworkSupport",
    isNeeded: ({ spec }) => spec.hostNetwork === true && spec.hostUsers === false,
  },
];

/** Whether the node declares every feature that the pod needs. */
export function admitFeatures(pod: Pod, declared: readonly string[]): AdmissionResult {
  const missing = declaredFeatures
    .filter(({ name, isNeeded }) => isNeeded(pod) && !declared.includes(name))
    .map(({ name }) => name);
  if (missing.length === 0) return admitted;
  return rejected(
    "PodFeatureUnsupported",
    `Pod requires node features that are not available: ${missing.join(", ")}`,
  );
}
