import { otherNames } from "../../core/storage/found-names.ts";
import type { VolumeStates } from "./volume-states.ts";

/**
 * Disks that were found under another name than that by which pods want them are known by the pods' from then on: else they
 * would be unmounted while they are used. One that is settled and that nothing is done to.
 */
export function adoptFound(states: VolumeStates, isPending: (name: string) => boolean): void {
  for (const { name, isFound, isAttachable } of states.volumes()) {
    if (!isFound || isAttachable === undefined || isPending(name)) continue;
    // A pod uses it under this name, too.
    if (states.findWanted(name) !== undefined) continue;
    for (const other of otherNames(name)) {
      const wanted = states.findWanted(other);
      if (wanted === undefined || states.volume(other) !== undefined) continue;
      states.rename(name, other, { isAttachable: wanted.attachable });
    }
  }
}

/** Whether it is there under another name, which is settled or given back first. */
export function isFoundElsewhere(states: VolumeStates, name: string): boolean {
  if (states.volume(name) !== undefined) return false;
  return states
    .volumes()
    .some(
      (each) =>
        each.isFound &&
        states.findWanted(each.name) === undefined &&
        otherNames(each.name).includes(name),
    );
}
