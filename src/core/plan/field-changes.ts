// What became of an object between the file and the agent, field by field.

export interface FieldChange {
  readonly field: string;
  /** Absent when the file says nothing about the field. */
  readonly from?: unknown;
  readonly to: unknown;
}

/** The fields of `after` that are not in `before`, or are there with another value; both are plain JSON. */
export function fieldChanges(before: unknown, after: unknown, field = ""): FieldChange[] {
  if (isRecord(after) && Object.keys(after).length > 0) {
    return Object.entries(after).flatMap(([key, value]) =>
      value === undefined
        ? []
        : fieldChanges(
            isRecord(before) && Object.hasOwn(before, key) ? before[key] : undefined,
            value,
            joinField(field, key),
          ),
    );
  }
  if (Array.isArray(after) && after.length > 0) {
    return after.flatMap((value: unknown, index) =>
      fieldChanges(Array.isArray(before) ? before[index] : undefined, value, `${field}[${index}]`),
    );
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return [
    before === undefined || before === null
      ? { field, to: after }
      : { field, from: before, to: after },
  ];
}

/** Keys that are not plain words stand in brackets, as the API's own messages write them. */
function joinField(field: string, key: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(key)) return `${field}[${key}]`;
  return field === "" ? key : `${field}.${key}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
