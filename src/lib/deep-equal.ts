/** Whether two values of plain data are the same; a field that is undefined counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => deepEqual(item, b[index]));
  }
  let extraFields = 0;
  for (const key of Object.keys(a)) {
    const value: unknown = Reflect.get(a, key);
    if (value === undefined) continue;
    extraFields += 1;
    if (!deepEqual(value, Reflect.get(b, key))) return false;
  }
  for (const key of Object.keys(b)) if (Reflect.get(b, key) !== undefined) extraFields -= 1;
  return extraFields === 0;
}
