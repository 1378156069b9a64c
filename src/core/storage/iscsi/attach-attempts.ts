const minMultipathCount = 2;
const minAttempts = 2;

/** How often the portals of a disk that have no device yet are tried in all. A single path is good enough after that. */
export const maxAttachAttempts = 5;

/** Whether the devices found so far are enough: one for each portal, or a multipath after the others had a second chance. */
export function isAttachDone({
  attempt,
  found,
  portals,
}: {
  readonly attempt: number;
  readonly found: number;
  readonly portals: number;
}): boolean {
  return found === portals || (found >= minMultipathCount && attempt >= minAttempts);
}
