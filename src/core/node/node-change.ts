import { deepEqual } from "../../lib/deep-equal.ts";
import type { NodeCondition, NodeStatus } from "../../model/generated/kubernetes.ts";

/** Whether two statuses differ in more than the heartbeat times of their conditions. */
export function hasNodeStatusChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !deepEqual(comparable(before), comparable(after));
}

function comparable(status: NodeStatus): unknown {
  const conditions = (status.conditions ?? [])
    .map((condition) => ({ ...condition, lastHeartbeatTime: undefined }))
    .toSorted(byType);
  return withoutEmpty({ ...status, conditions });
}

function byType(a: NodeCondition, b: NodeCondition): number {
  if (a.type === b.type) return 0;
  return a.type < b.type ? -1 : 1;
}

/** An empty list or map means as much as none. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const fields = Object.entries(value)
    .map(([name, field]) => [name, withoutEmpty(field)] as const)
    .filter(([, field]) => field !== undefined);
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}
