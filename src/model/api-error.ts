/** An answer of the API server that is an error, with what its Status object says. */
export class ApiError extends Error {
  readonly status: number;
  /** Such as NotFound, Conflict, Expired; empty when the answer had none. */
  readonly reason: string;
  /** How long the server wants to be left alone. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Whether the API server answered with that status. */
export function isApiStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status;
}
