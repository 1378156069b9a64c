import type { RuntimeErrorCode } from "./runtime-error.ts";

/** A call of a CSI driver that failed; the message is what a gRPC client of Go prints, which users compare with a kubelet's. */
export class CsiCallError extends Error {
  override readonly name = "CsiCallError";
  readonly code: RuntimeErrorCode;

  /** `text` is the driver's own. */
  constructor(code: RuntimeErrorCode, text: string, options?: ErrorOptions) {
    super(`rpc error: code = ${grpcCodeName(code)} desc = ${text}`, options);
    this.code = code;
  }
}

/** The name of a gRPC status as Go spells it, in texts and metrics. */
export function grpcCodeName(code: RuntimeErrorCode): string {
  return code === "Cancelled" ? "Canceled" : code;
}
