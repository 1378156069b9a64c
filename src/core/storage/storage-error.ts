import { err, type Result } from "../../lib/result.ts";

/** What an error of storage says about the state it leaves and whether trying again can help. */
export type StorageErrorKind =
  | "transient"
  | "uncertain"
  | "failedPrecondition"
  | "infeasible"
  | "notSupported"
  | "metricsNotSupported"
  | "final";

export interface StorageError {
  readonly kind: StorageErrorKind;
  /** The text as upstream shows it. */
  readonly message: string;
  /** The disk has another file system than the volume asks for, which its owner is to know. */
  readonly isFileSystemMismatch?: boolean | undefined;
  /** The storage was asked, and this is what it answered. */
  readonly isAnswer?: boolean | undefined;
}

/** Whether the operation is over: after other errors it may still be carried out on the node. */
export function isOperationFinished({ kind }: StorageError): boolean {
  return kind !== "transient" && kind !== "uncertain";
}

/**
 * A failure before the storage was asked says nothing about an earlier attempt, which may have succeeded since: it leaves open
 * what was open.
 */
export function unlessAsked<T>(
  result: Result<T, StorageError>,
  { mayBeThere }: { readonly mayBeThere?: boolean | undefined },
): Result<T, StorageError> {
  if (result.ok || mayBeThere !== true || result.error.isAnswer === true) return result;
  return err({ ...result.error, kind: "transient" });
}
