/** A deep copy of JSON-like data. */
export function plainCopy<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  // Spread takes the shape over as a whole, which is much faster than field by field.
  const result: Record<string, unknown> = { ...value };
  for (const key in result) {
    const inner = result[key];
    if (typeof inner === "object" && inner !== null) result[key] = copy(inner);
  }
  return result;
}
