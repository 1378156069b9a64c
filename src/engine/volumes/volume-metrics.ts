import type { Result } from "../../lib/result.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface VolumeMetricsDeps {
  readonly metrics: Metrics;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** How many volumes there are of each plugin, under the names that the metric has for wanted and present. */
export interface VolumeCounts {
  readonly desired_state_of_world: ReadonlyMap<string, number>;
  readonly actual_state_of_world: ReadonlyMap<string, number>;
}

export function countPlugins(names: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Measures one setting up of a volume, and from when it was first wanted. */
export async function measureMount<T>(
  deps: VolumeMetricsDeps,
  { plugin, wantedMs }: { readonly plugin: string; readonly wantedMs: number | undefined },
  work: () => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  const startedMs = deps.clock.monotonicMs();
  let status = "fail-unknown";
  try {
    const result = await work();
    if (result.ok) {
      status = "success";
      const seconds = (deps.clock.monotonicMs() - (wantedMs ?? startedMs)) / 1000;
      const labels = { operation_name: "overall_volume_mount", plugin_name: plugin };
      deps.metrics.observe("volume_operation_total_seconds", seconds, labels);
    }
    return result;
  } finally {
    observe(deps, { operation_name: "volume_mount", status, volume_plugin: plugin }, startedMs);
  }
}

/** Measures the removal of volumes that go together. */
export async function measureUnmount(
  deps: VolumeMetricsDeps,
  plugins: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const startedMs = deps.clock.monotonicMs();
  let status = "fail-unknown";
  try {
    await work();
    status = "success";
  } finally {
    for (const plugin of plugins) {
      observe(deps, { operation_name: "volume_unmount", status, volume_plugin: plugin }, startedMs);
    }
  }
}

function observe(
  { metrics, clock }: VolumeMetricsDeps,
  done: Readonly<Record<"operation_name" | "status" | "volume_plugin", string>>,
  startedMs: number,
): void {
  const seconds = (clock.monotonicMs() - startedMs) / 1000;
  metrics.observe("storage_operation_duration_seconds", seconds, { migrated: "false", ...done });
}
