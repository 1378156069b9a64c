// What a request can be refused with, shaped as the Kubernetes API does it.
import type { Status } from "../model/generated/kubernetes.ts";

type Reason =
  | "BadRequest"
  | "Expired"
  | "Forbidden"
  | "InternalError"
  | "Invalid"
  | "MethodNotAllowed"
  | "NotFound"
  | "RequestEntityTooLarge"
  | "ServiceUnavailable"
  | "TooManyRequests"
  | "Unauthorized"
  | "UnsupportedMediaType";

const codes: Readonly<Record<Reason, number>> = {
  BadRequest: 400,
  Expired: 410,
  Forbidden: 403,
  InternalError: 500,
  Invalid: 422,
  MethodNotAllowed: 405,
  NotFound: 404,
  RequestEntityTooLarge: 413,
  ServiceUnavailable: 503,
  TooManyRequests: 429,
  Unauthorized: 401,
  UnsupportedMediaType: 415,
};

/** A refusal that is sent to the client in full. */
export class HttpError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }

  get code(): number {
    return codes[this.reason];
  }
}

export function notFound(resource: string, name: string): HttpError {
  return new HttpError("NotFound", `${resource} "${name}" not found`);
}

/** Any error as a refusal: what is not one already is the agent's own failure. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  return new HttpError("InternalError", error instanceof Error ? error.message : String(error));
}

export function statusOf(error: HttpError): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: error.message,
    reason: error.reason,
    code: error.code,
  };
}
