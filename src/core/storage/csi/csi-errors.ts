// What a failed call of a driver says about the volume, and what an attachment says about itself.
import { err, ok, type Result } from "../../../lib/result.ts";
import type { VolumeAttachment } from "../../../model/generated/kubernetes.ts";
import type { RuntimeErrorCode } from "../../../model/runtime-error.ts";
import type { StorageError } from "../storage-error.ts";

/** A failure of a driver's call; without a code none was made. */
export interface CsiFailure extends StorageError {
  readonly code?: RuntimeErrorCode | undefined;
}

// After these the driver may still carry the call out, or carries out an earlier one.
const pendingCodes: ReadonlySet<RuntimeErrorCode> = new Set([
  "Cancelled",
  "DeadlineExceeded",
  "Unavailable",
  "ResourceExhausted",
  "Aborted",
]);

const infeasibleCodes: ReadonlySet<RuntimeErrorCode> = new Set([
  "InvalidArgument",
  "OutOfRange",
  "NotFound",
]);

/** The failure of a call that changes the volume's state. */
export function callFailure(code: RuntimeErrorCode, message: string): CsiFailure {
  return { kind: pendingCodes.has(code) ? "uncertain" : "final", message, code };
}

/** The failure of an expansion: some codes say that it can never succeed as it is asked for. */
export function expandFailure({ kind, message, code }: CsiFailure): StorageError {
  const text = `Expander.NodeExpand failed to expand the volume : ${message}`;
  // An uncertain failure is no more than that, whatever its code.
  if (kind === "uncertain") return { kind, message: text };
  if (code === "FailedPrecondition") return { kind: "failedPrecondition", message: text };
  if (code === undefined || !infeasibleCodes.has(code)) return { kind, message: text };
  return {
    kind: "infeasible",
    message: `Expander.NodeExpand failed to expand the volume ${message}`,
  };
}

/** Whether the volume is attached; an error when it will not be. */
export function attachmentStatus({
  metadata,
  status,
}: VolumeAttachment): Result<boolean, StorageError> {
  if (metadata?.deletionTimestamp !== undefined)
    return refused("volume attachment is being deleted");
  if (status?.attached === true) return ok(true);
  if (status?.attachError !== undefined) return refused(status.attachError.message ?? "");
  return ok(false);
}

function refused(message: string): Result<never, StorageError> {
  return err({ kind: "final", message });
}
