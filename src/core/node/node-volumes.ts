import type { Node } from "../../model/generated/kubernetes.ts";

/** What the node's object says of the volumes that controllers attached to the node: device paths by unique name. */
export function attachedVolumes({ status }: Node): ReadonlyMap<string, string> {
  return new Map((status?.volumesAttached ?? []).map(({ name, devicePath }) => [name, devicePath]));
}

/** Whether two states of the node's object say the same of attached volumes; undefined = the object is not known. */
export function haveSameAttached(before: Node | undefined, after: Node | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  const [known, next] = [attachedVolumes(before), attachedVolumes(after)];
  return known.size === next.size && [...next].every(([name, path]) => known.get(name) === path);
}

/**
 * Whether a volume is in use that the node's object does not list: no pod may mount it before the API server knows, so that
 * no controller detaches it. One that is listed too long only delays its detaching.
 */
export function hasUnreportedVolume(
  reported: readonly string[] | undefined,
  inUse: readonly string[] | undefined,
): boolean {
  return (inUse ?? []).some((name) => reported?.includes(name) !== true);
}
