// The kubelet's first synchronization uses a list that changes while it is read: what is replaced in
// that list is seen, until adding to it moves it elsewhere. Later ones see everything.

/** How many entries still fit where the list of thresholds is, by how many of each kind it was put together from. */
export function spareEntries(counts: {
  readonly hard: number;
  readonly soft: number;
  /** Undefined when the list was not copied to add what holds for all pods together. */
  readonly allocatable?: number | undefined;
}): number {
  const { hard, soft, allocatable } = counts;
  const length = hard + soft;
  if (allocatable === undefined) return grown(hard, soft) - length;
  return grown(length, allocatable) - length - allocatable;
}

/** The room of a full list after adding to it: twice as much, or what is needed if that is more. */
function grown(length: number, added: number): number {
  return added === 0 ? length : Math.max(length * 2, length + added);
}
