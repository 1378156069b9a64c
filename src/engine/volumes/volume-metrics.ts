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
