import type { Pod } from "../model/pod.ts";
import type { PodExplanation } from "../ports/agent-view.ts";

export type BerthErrorCode =
  /** An option of `createNode` or of a call makes no sense. */
  | "invalid-options"
  /** The node could not be started; the message says what is missing on the machine. */
  | "start-failed"
  /** A manifest is wrong, or the node does not take it. */
  | "invalid-manifest"
  /** There is no such pod or container. */
  | "not-found"
  /** What was waited for cannot come true any more, or did not in time. */
  | "wait-failed"
  /** Simulated containers cannot do that. */
  | "unsupported"
  /** The node was stopped, or has ended by itself. */
  | "node-ended"
  /** The node refused or failed; the message is its own. */
  | "failed";

/** Every error of the library but that of an aborted signal, which is the signal's own reason. */
export class BerthError extends Error {
  override readonly name: string = "BerthError";
  readonly code: BerthErrorCode;

  constructor(code: BerthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A pod did not become what was waited for. */
export class PodWaitError extends BerthError {
  override readonly name: string = "PodWaitError";
  /** As it was last seen; undefined = there was none. */
  readonly pod: Pod | undefined;
  /** What the node knows of it: what it saw, decided and waits for. */
  readonly explanation: PodExplanation | undefined;

  constructor(message: string, pod: Pod | undefined, explanation: PodExplanation | undefined) {
    super("wait-failed", message);
    this.pod = pod;
    this.explanation = explanation;
  }
}
