/** Keeps the machine from going down until it is released, or the machine's own patience ends. */
export interface ShutdownLock {
  release(): void;
}

/** The part of the system that shuts the machine down. */
export interface ShutdownService {
  /** How long the machine waits for those who hold a lock. */
  maxDelayMs(): Promise<number>;
  /** Asks for a longer wait; it takes a moment to be in force. */
  extendMaxDelay(delayMs: number): Promise<void>;
  lock(): Promise<ShutdownLock>;
  /** Reports when the machine is about to shut down, and when that was cancelled. Rejects when the watch breaks. */
  watch(onChange: (isShuttingDown: boolean) => void, signal: AbortSignal): Promise<void>;
}
