import type { PodStatus } from "../../model/generated/kubernetes.ts";

// These say nothing when they are empty; of other objects it counts that they are there.
const maps: ReadonlySet<string> = new Set(["allocatedResources", "requests", "limits"]);

/** A status as the API server keeps it: without lists and maps that are empty, so that they do not look like news. */
export function wireStatus(status: PodStatus): PodStatus {
  return withoutEmpty(status) as PodStatus;
}

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !isEmpty(name, inner))
      .map(([name, inner]) => [name, withoutEmpty(inner)]),
  );
}

function isEmpty(name: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (value === undefined) return true;
  return maps.has(name) && Object.keys(value ?? {}).length === 0;
}
