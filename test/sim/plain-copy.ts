/** A copy of JSON-like data: nobody who changes one changes the other. */
export function plainCopy<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const key in value) result[key] = copy(Reflect.get(value, key));
  return result;
}
