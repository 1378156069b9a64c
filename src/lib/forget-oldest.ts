/** Keeps no more than so many entries of a map: those that were added last. */
export function forgetOldest(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
