import type { MessagePort } from "node:worker_threads";

/** What every thread that parses what strangers send is started with, beside its own settings. */
export interface ThreadStart {
  /** Calls to the agent go over it. */
  readonly agentPort: MessagePort;
  /** One 32-bit number, which the thread counts up as long as it works. */
  readonly progress: SharedArrayBuffer;
}

/** How often the thread counts up. */
export const progressMs = 2_500;

/** In the thread: says from now on that it works. */
export function showProgress({ progress }: Pick<ThreadStart, "progress">): void {
  const counter = new Int32Array(progress);
  setInterval(() => Atomics.add(counter, 0, 1), progressMs);
}
