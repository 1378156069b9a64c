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
}

/** Whether the operation is over: after other errors it may still be carried out on the node. */
export function isOperationFinished({ kind }: StorageError): boolean {
  return kind !== "transient" && kind !== "uncertain";
}
