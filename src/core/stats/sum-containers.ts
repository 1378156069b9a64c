import type { ContainerStats, PodStats } from "../../model/stats-summary.ts";

/** A pod's CPU, memory and swap summed over its containers, where it has no cgroup of its own. Pressure does not add up. */
export function sumOfContainers(
  containers: readonly ContainerStats[],
): Pick<PodStats, "cpu" | "memory" | "swap"> {
  return {
    cpu: sumOf(
      containers.flatMap(({ cpu }) => (cpu === undefined ? [] : [{ ...cpu, psi: undefined }])),
    ),
    memory: sumOf(
      containers.flatMap(({ memory }) =>
        memory === undefined ? [] : [{ ...memory, psi: undefined }],
      ),
    ),
    swap: sumOf(containers.flatMap(({ swap }) => (swap === undefined ? [] : [swap]))),
  };
}

/** Adds up every amount; the time is the last one's. */
function sumOf<T extends { readonly timeMs: number; readonly psi?: undefined }>(
  parts: readonly T[],
): T | undefined {
  return parts.reduce<T | undefined>((sum, part) => {
    if (sum === undefined) return part;
    const before = new Map<string, unknown>(Object.entries(sum));
    const entries = Object.entries(part).map(([name, value]) => {
      const added = before.get(name);
      const isAmount = typeof value === "number" && typeof added === "number" && name !== "timeMs";
      return [name, isAmount ? value + added : (value ?? added)] as const;
    });
    return { ...part, ...Object.fromEntries(entries) };
  }, undefined);
}
