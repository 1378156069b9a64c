/** Time as the engine sees it: wall time for what users read, monotonic time for intervals. */
export interface Clock {
  nowMs(): number;
  monotonicMs(): number;
  /** Calls back once after `ms`, unless it is stopped before. */
  startTimer(ms: number, onTime: () => void): { stop(): void };
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
