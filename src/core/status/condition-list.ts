import type { PodCondition } from "../../model/generated/kubernetes.ts";

const kubeletConditions: ReadonlySet<string> = new Set([
  "PodScheduled",
  "Ready",
  "Initialized",
  "ContainersReady",
  "PodResizeInProgress",
  "PodResizePending",
  "PodReadyToStartContainers",
  "AllContainersRestarting",
]);

/** Whether the node alone writes conditions of that type. */
export function isKubeletCondition(type: string): boolean {
  return kubeletConditions.has(type);
}

/** Whether the node and others both write conditions of that type. */
export function isSharedCondition(type: string): boolean {
  return type === "DisruptionTarget";
}

export function findCondition(
  conditions: readonly PodCondition[] | undefined,
  type: string,
): PodCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The list with the first condition of that type replaced, or with the condition at its end. */
export function withCondition(
  conditions: readonly PodCondition[],
  condition: PodCondition,
): PodCondition[] {
  const index = conditions.findIndex(({ type }) => type === condition.type);
  return index < 0 ? [...conditions, condition] : conditions.with(index, condition);
}
