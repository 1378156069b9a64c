/** gRPC status names, as the CRI reports failures. */
export type RuntimeErrorCode =
  | "Cancelled"
  | "Unknown"
  | "InvalidArgument"
  | "DeadlineExceeded"
  | "NotFound"
  | "AlreadyExists"
  | "PermissionDenied"
  | "ResourceExhausted"
  | "FailedPrecondition"
  | "Aborted"
  | "OutOfRange"
  | "Unimplemented"
  | "Internal"
  | "Unavailable"
  | "DataLoss"
  | "Unauthenticated";

/** A call to the container runtime that failed; `message` is the runtime's own text. */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;
  readonly method: string;

  constructor(method: string, code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.method = method;
    this.code = code;
  }
}

// In the order of gRPC's numbers, from 1.
const CODES: readonly RuntimeErrorCode[] = [
  "Cancelled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
];

/** The name of a gRPC status number. */
export function runtimeErrorCode(grpcStatus: number): RuntimeErrorCode {
  return CODES[grpcStatus - 1] ?? "Unknown";
}

/** The gRPC status number of a name. */
export function grpcStatus(code: RuntimeErrorCode): number {
  return CODES.indexOf(code) + 1;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof RuntimeError && error.code === "NotFound";
}

/** The answer of the runtime; undefined when it does not have what was asked for. */
export async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The failure as a gRPC client prints it, for messages that users compare with a kubelet's. */
export function runtimeErrorText(error: unknown): string {
  if (!(error instanceof RuntimeError))
    return error instanceof Error ? error.message : String(error);
  const code = error.code === "Cancelled" ? "Canceled" : error.code;
  return `rpc error: code = ${code} desc = ${error.message}`;
}
