// Comparison of whole values. By the vectors' convention an absent field, null and an empty list or map are equal.

export interface Difference {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Every place where the two values differ, at most `limit` of them. */
export function differences(expected: unknown, actual: unknown, limit = 5): Difference[] {
  const found: Difference[] = [];
  compareAt("", expected, actual, found, limit);
  return found;
}

function compareAt(
  path: string,
  expected: unknown,
  actual: unknown,
  found: Difference[],
  limit: number,
): void {
  if (found.length >= limit) return;
  if (isEmpty(expected) && isEmpty(actual)) return;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
      compareAt(`${path}[${index}]`, expected[index], actual[index], found, limit);
    }
    return;
  }
  if (isRecord(expected) && isRecord(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      compareAt(`${path}.${key}`, expected[key], actual[key], found, limit);
    }
    return;
  }
  if (!Object.is(expected, actual))
    found.push({ path: path === "" ? "." : path, expected, actual });
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.values(value).every((field) => field === undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
