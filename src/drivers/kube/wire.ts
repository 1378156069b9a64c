import type { Readable } from "node:stream";

/** One request as it goes over a connection. */
export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | undefined;
}

/** The head of an answer, and its body to be read. */
export interface WireResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Readable;
  /** Whether all of the body came; known once it has ended. */
  readonly isWhole: () => boolean;
}

/** A way to carry requests to one server with one client certificate. */
export interface Transport {
  /** Resolves with the head of the answer. The signal ends the exchange at any time, also while the body is read. */
  open(wire: WireRequest, signal: AbortSignal): Promise<WireResponse>;
  /** Something failed: connections that carry nothing are closed, others are checked. */
  distrust(): void;
  /** Ends every connection with what it carries. */
  close(): void;
}

/**
 * The connection had been used before and ended at that very moment. `wasSeen`: whether the server may have acted
 * on the request.
 */
export class StaleConnectionError extends Error {
  override readonly name = "StaleConnectionError";
  readonly wasSeen: boolean;

  constructor(message: string, wasSeen: boolean, options?: ErrorOptions) {
    super(message, options);
    this.wasSeen = wasSeen;
  }
}

/** What is thrown in the place of a signal's reason, which may be anything. */
export function abortError(signal: AbortSignal): Error {
  const { reason } = signal as { readonly reason: unknown };
  return reason instanceof Error ? reason : new Error("aborted");
}
