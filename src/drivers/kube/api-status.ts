import { parseJsonText } from "../../lib/json-text.ts";
import { ApiError } from "../../model/api-error.ts";

interface StatusFields {
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly retryAfterSeconds?: unknown } | null;
}

/** The error that a Status object describes; `httpStatus` counts where it names no code. */
export function statusError(
  value: unknown,
  httpStatus: number,
  retryAfterSeconds: number | undefined,
): ApiError {
  const { code, reason, message, details }: StatusFields =
    typeof value === "object" && value !== null ? value : {};
  const seconds = details?.retryAfterSeconds;
  return new ApiError(
    typeof code === "number" && code > 0 ? code : httpStatus,
    typeof reason === "string" ? reason : "",
    typeof message === "string" && message !== ""
      ? message
      : `the API server answered with status ${httpStatus}`,
    typeof seconds === "number" && seconds > 0 ? seconds : retryAfterSeconds,
  );
}

/** What an answer that is an error says, be it a Status object or not. */
export function answerError(
  httpStatus: number,
  body: string,
  retryAfterSeconds: number | undefined,
): ApiError {
  return statusError(parseOrNothing(body), httpStatus, retryAfterSeconds);
}

function parseOrNothing(body: string): unknown {
  try {
    const value: unknown = parseJsonText(body);
    return value;
  } catch {
    return undefined;
  }
}
