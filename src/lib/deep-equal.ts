/** Whether two values of plain data are the same; a field that is undefined counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => deepEqual(item, b[index]));
  }
  const fieldsOfA = definedFields(a);
  const fieldsOfB = new Map(definedFields(b));
  return (
    fieldsOfA.length === fieldsOfB.size &&
    fieldsOfA.every(([key, value]) => fieldsOfB.has(key) && deepEqual(value, fieldsOfB.get(key)))
  );
}

function definedFields(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, field]) => field !== undefined);
}
