import type { PodStatus } from "../../model/generated/kubernetes.ts";

// These say nothing when they are empty; of other objects it counts that they are there.
const maps: ReadonlySet<string> = new Set(["allocatedResources", "requests", "limits"]);

// A status is shown more often than it changes, and statuses are immutable.
const made = new WeakMap<PodStatus, PodStatus>();

/** A status as the API server keeps it: without lists and maps that are empty, so that they do not look like changes. */
export function wireStatus(status: PodStatus): PodStatus {
  const known = made.get(status);
  if (known !== undefined) return known;
  const wire = withoutEmpty(status) as PodStatus;
  made.set(status, wire);
  return wire;
}

/** What has nothing empty in it is returned as it is. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value.map(withoutEmpty);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const fields: Record<string, unknown> = {};
  let isChanged = false;
  for (const [name, inner] of Object.entries(value)) {
    const field: unknown = isEmpty(name, inner) ? undefined : withoutEmpty(inner);
    if (field !== undefined) fields[name] = field;
    if (field === undefined || field !== inner) isChanged = true;
  }
  return isChanged ? fields : value;
}

function isEmpty(name: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (value === undefined) return true;
  return maps.has(name) && Object.keys(value ?? {}).length === 0;
}
