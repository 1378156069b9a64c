/** What the kernel has to say. */
export interface KernelLog {
  /** Hands on every message from now on, until `signal` aborts. Rejects when it cannot be read. */
  run(onMessage: (message: string) => void, signal: AbortSignal): Promise<void>;
}
