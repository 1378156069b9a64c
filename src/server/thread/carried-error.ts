// Errors between threads: a copy loses its class, and with it what handlers go by.
import { errorText } from "../../lib/error-text.ts";
import { ApiError } from "../../model/api-error.ts";
import { RuntimeError, type RuntimeErrorCode } from "../../model/runtime-error.ts";

/** An error as plain data. */
export type CarriedError =
  | {
      readonly kind: "runtime";
      readonly method: string;
      readonly code: RuntimeErrorCode;
      readonly message: string;
    }
  | {
      readonly kind: "api";
      readonly status: number;
      readonly reason: string;
      readonly message: string;
    }
  | { readonly kind: "other"; readonly message: string };

export function carryError(error: unknown): CarriedError {
  const message = errorText(error);
  if (error instanceof RuntimeError) {
    return { kind: "runtime", method: error.method, code: error.code, message };
  }
  if (error instanceof ApiError) {
    return { kind: "api", status: error.status, reason: error.reason, message };
  }
  return { kind: "other", message };
}

export function reviveError(carried: CarriedError): Error {
  switch (carried.kind) {
    case "runtime":
      return new RuntimeError(carried.method, carried.code, carried.message);
    case "api":
      return new ApiError(carried.status, carried.reason, carried.message);
    case "other":
      return new Error(carried.message);
  }
}
