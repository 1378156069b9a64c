import { jsonText, quoteText } from "../../lib/go-text.ts";

/** The path of a field, such as spec.containers[0].image. */
export type FieldPath = string;

type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany";

/** One refusal of one field. */
export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: FieldPath;
  readonly detail: string;
  /** The refused value as messages show it; absent where the message shows none. */
  readonly shownValue?: string;
}

/** A value of a named type, a list or an object: shown as JSON, unlike a plain string. */
export interface ShownAsJson {
  readonly json: unknown;
}

export type BadValue = string | number | boolean | ShownAsJson;

const titles: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: "Not found",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
};

/** The field error as one line, worded as the API server words it. */
export function formatFieldError(error: FieldError): string {
  const value = error.shownValue === undefined ? "" : `: ${error.shownValue}`;
  const detail = error.detail === "" ? "" : `: ${error.detail}`;
  return `${error.field}: ${titles[error.type]}${value}${detail}`;
}

export function required(field: FieldPath, detail = ""): FieldError {
  return { type: "FieldValueRequired", field, detail };
}

export function forbidden(field: FieldPath, detail: string): FieldError {
  return { type: "FieldValueForbidden", field, detail };
}

export function invalid(field: FieldPath, value: BadValue, detail: string): FieldError {
  return { type: "FieldValueInvalid", field, detail, shownValue: shown(value) };
}

export function duplicate(field: FieldPath, value: BadValue): FieldError {
  return { type: "FieldValueDuplicate", field, detail: "", shownValue: shown(value) };
}

export function notFound(field: FieldPath, value: BadValue, detail = ""): FieldError {
  return { type: "FieldValueNotFound", field, detail, shownValue: shown(value) };
}

/** The field holds a word that is none of the supported ones. */
export function notSupported(
  field: FieldPath,
  value: BadValue,
  supported: readonly string[],
): FieldError {
  const detail = `supported values: ${supported.map(quoteText).join(", ")}`;
  return { type: "FieldValueNotSupported", field, detail, shownValue: shown(value) };
}

export function tooLong(field: FieldPath, maxBytes: number): FieldError {
  return { type: "FieldValueTooLong", field, detail: `may not be more than ${maxBytes} bytes` };
}

export function tooMany(field: FieldPath, count: number, max: number): FieldError {
  const detail = `must have at most ${max} ${max === 1 ? "item" : "items"}`;
  return { type: "FieldValueTooMany", field, detail, shownValue: String(count) };
}

/** Each message about one value becomes an error of that value. */
export function invalidForEach(
  field: FieldPath,
  value: BadValue,
  messages: readonly string[],
): FieldError[] {
  return messages.map((message) => invalid(field, value, message));
}

/** Marks a word of a closed set (an enum of the API), which messages show as JSON. */
export function word(value: string): ShownAsJson {
  return { json: value };
}

function shown(value: BadValue): string {
  if (typeof value === "string") return quoteText(value);
  if (typeof value === "object") return jsonText(value.json);
  return String(value);
}
