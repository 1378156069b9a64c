import { type BackoffLimits, nextDelayMs } from "../../lib/backoff.ts";
import { durationText, quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatTimeNano } from "../../lib/time.ts";

/** What an operation is about; without a pod or a node it is about the volume for all of them. */
export interface OperationKey {
  readonly volumeName: string;
  readonly podUid?: string;
  readonly nodeName?: string;
}

/** Why an operation may not start now. */
export type OperationRefusal =
  | { readonly kind: "alreadyExists"; readonly message: string }
  | { readonly kind: "backoff"; readonly message: string; readonly retryAfterMs: number };

interface Operation {
  readonly key: OperationKey;
  /** What is done, e.g. volume_mount: another operation need not wait for the back-off of this one. */
  readonly name: string;
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
}

interface Failure {
  readonly atMs: number;
  readonly delayMs: number;
  readonly error: string;
}

const limits: BackoffLimits = { initialMs: 500, maxMs: 122_000 };

/**
 * The operations that run on volumes, and those that failed. Of two that overlap (the same volume, and not two different pods
 * or nodes) one runs at a time; one that failed is refused up to and including the end of its back-off.
 */
export class PendingOperations {
  /** In upstream's order, which decides which of several that overlap is asked. */
  readonly #operations: Operation[] = [];
  /** How many of them there are of each volume: most volumes have none, and are asked about often. */
  readonly #counts = new Map<string, number>();

  /** Records that the operation runs; the caller must call `finish` with the same key. */
  start(key: OperationKey, name: string, nowMs: number): Result<void, OperationRefusal> {
    const index = this.#find(key);
    const previous = this.#operations[index];
    if (previous === undefined) {
      this.#operations.push({ key, name, isPending: true, failure: undefined });
      this.#count(key.volumeName, 1);
      return ok(undefined);
    }
    if (previous.isPending) return err({ kind: "alreadyExists", message: alreadyExists(key) });
    const backingOff = failureInForce(previous, nowMs);
    if (backingOff === undefined) {
      this.#operations[index] = { ...previous, key, isPending: true };
      return ok(undefined);
    }
    if (previous.name === name) return err(backoffRefusal(key, backingOff));
    this.#operations[index] = { key, name, isPending: true, failure: undefined };
    return ok(undefined);
  }

  /** The operation has ended, with the text of its error if it failed. */
  finish(key: OperationKey, error: string | undefined, nowMs: number): void {
    const index = this.#operations.findIndex((operation) => isSameKey(operation.key, key));
    const operation = this.#operations[index];
    if (operation === undefined) return;
    if (error === undefined) {
      this.#remove(index);
      return;
    }
    const delayMs = nextDelayMs(operation.failure?.delayMs, limits);
    const failure = { atMs: nowMs, delayMs, error };
    this.#operations[index] = { ...operation, isPending: false, failure };
  }

  /** Whether an operation runs that overlaps with the key. */
  isPending(key: OperationKey): boolean {
    return this.#operations[this.#find(key)]?.isPending === true;
  }

  /** Why the last operation that overlaps with the key failed; undefined once one has succeeded. */
  lastError(key: OperationKey): string | undefined {
    return this.#operations[this.#find(key)]?.failure?.error;
  }

  /** Whether `start` would accept it. */
  isSafeToRetry(key: OperationKey, name: string, nowMs: number): boolean {
    const previous = this.#operations[this.#find(key)];
    if (previous === undefined) return true;
    if (previous.isPending) return false;
    return failureInForce(previous, nowMs) === undefined || previous.name !== name;
  }

  /** Drops the past failures of a volume that no pod wants any more and of which nothing is left on the node. */
  forget(volumeName: string): void {
    for (let index = this.#operations.length - 1; index >= 0; index -= 1) {
      const operation = this.#operations[index];
      if (operation?.key.volumeName === volumeName && !operation.isPending) this.#remove(index);
    }
  }

  /** The one that runs, else that of the same key, else the first that overlaps; -1 when there is none. */
  #find(key: OperationKey): number {
    if (key.volumeName === "" || !this.#counts.has(key.volumeName)) return -1;
    let found = -1;
    for (const [index, operation] of this.#operations.entries()) {
      if (!overlaps(operation.key, key)) continue;
      if (operation.isPending) return index;
      if (found === -1 || isSameKey(operation.key, key)) found = index;
    }
    return found;
  }

  #count(volumeName: string, by: 1 | -1): void {
    const count = (this.#counts.get(volumeName) ?? 0) + by;
    if (count === 0) this.#counts.delete(volumeName);
    else this.#counts.set(volumeName, count);
  }

  /** The last one takes the place of the removed one. */
  #remove(index: number): void {
    this.#count(this.#operations[index]?.key.volumeName ?? "", -1);
    const last = this.#operations.pop();
    if (last !== undefined && index < this.#operations.length) this.#operations[index] = last;
  }
}

function overlaps(a: OperationKey, b: OperationKey): boolean {
  return (
    a.volumeName === b.volumeName &&
    mayBeSame(a.podUid, b.podUid) &&
    mayBeSame(a.nodeName, b.nodeName)
  );
}

/** An absent one stands for all. */
function mayBeSame(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

function isSameKey(a: OperationKey, b: OperationKey): boolean {
  return a.volumeName === b.volumeName && a.podUid === b.podUid && a.nodeName === b.nodeName;
}

function failureInForce({ failure }: Operation, nowMs: number): Failure | undefined {
  if (failure === undefined) return undefined;
  return nowMs - failure.atMs <= failure.delayMs ? failure : undefined;
}

function alreadyExists(key: OperationKey): string {
  return `Failed to create operation with name ${keyText(key)}. An operation with that name is already executing.`;
}

function backoffRefusal(key: OperationKey, { atMs, delayMs, error }: Failure): OperationRefusal {
  const message =
    `Failed to create operation with name ${quoteText(keyText(key))}. ` +
    `An operation with that name failed at ${formatTimeNano(atMs)}. ` +
    `No retries permitted until ${formatTimeNano(atMs + delayMs)} (${durationText(delayMs)}). ` +
    `Last error: ${quoteText(error)}.`;
  return { kind: "backoff", message, retryAfterMs: atMs + delayMs };
}

function keyText({ volumeName, podUid = "", nodeName = "" }: OperationKey): string {
  return `{volumeName:${volumeName} podName:${podUid} nodeName:${nodeName}}`;
}
