// How the fields of a CredentialProviderConfig are read: what is wrong is added to the errors, by the path of the field.
import { nearestName } from "../../lib/nearest-name.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** The value as messages have it. */
export function shown(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}

export function texts(value: unknown, path: string, errors: string[]): readonly string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const isWrong = !Array.isArray(value) || items.some((item) => typeof item !== "string");
  if (!isAbsent(value) && isWrong) errors.push(`${path}: must be a list of texts`);
  return items.map(String);
}

export function unknownFields(fields: Fields, known: readonly string[], prefix: string): string[] {
  return Object.keys(fields)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = nearestName(name, known);
      return `${prefix}${name}: unknown field${near === undefined ? "" : `, did you mean ${near}?`}`;
    });
}
