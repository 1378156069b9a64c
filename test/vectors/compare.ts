// Comparison of whole values. By the vectors' convention an absent field, null and an empty list or map are equal.

export interface Difference {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Every place where the two values differ, at most `limit` of them. */
export function differences(expected: unknown, actual: unknown, limit = 5): Difference[] {
  return differencesAt("", expected, actual).slice(0, limit);
}

function differencesAt(path: string, expected: unknown, actual: unknown): Difference[] {
  if (isEmpty(expected) && isEmpty(actual)) return [];
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const longest = expected.length > actual.length ? expected : actual;
    return longest.flatMap((_, index) =>
      differencesAt(`${path}[${index}]`, expected[index], actual[index]),
    );
  }
  if (isRecord(expected) && isRecord(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...keys].flatMap((key) => differencesAt(`${path}.${key}`, expected[key], actual[key]));
  }
  if (Object.is(expected, actual)) return [];
  return [{ path: path === "" ? "." : path, expected, actual }];
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.values(value).every((field) => field === undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
