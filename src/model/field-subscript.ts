/** A field path such as metadata.labels['app'], taken apart. */
export interface FieldSubscript {
  readonly path: string;
  readonly key: string;
}

/** Undefined when the path has no subscript. */
export function splitSubscript(fieldPath: string): FieldSubscript | undefined {
  const start = fieldPath.indexOf("['", 1);
  const end = fieldPath.length - "']".length;
  if (start < 0 || !fieldPath.endsWith("']") || start + 2 > end) return undefined;
  return { path: fieldPath.slice(0, start), key: fieldPath.slice(start + 2, end) };
}
