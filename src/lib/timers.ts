// The only timers of the program. Node's own hold 2^31 - 1 ms, about 25 days, and go off at once when they are asked for more;
// periods of pods are as long as their authors like. These wait for any delay.

import { onAbort } from "./on-abort.ts";

const maxTimerMs = 2 ** 31 - 1;

export interface Timer {
  stop(): void;
}

interface TimerOptions {
  /** False = the process does not wait for it before it ends. */
  readonly keepsAlive?: boolean;
}

/** The system's timers, or a clock of the engine. */
export interface TimerStarter {
  /** Calls back once after `ms`, unless it is stopped before. */
  startTimer(ms: number, onTime: () => void): Timer;
}

/** Calls back once, when that time has passed. */
export function startTimer(
  ms: number,
  onTime: () => void,
  { keepsAlive = true }: TimerOptions = {},
): Timer {
  const endMs = performance.now() + ms;
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number): void => {
    timer = setTimeout(onTimer, Math.min(Math.max(Math.ceil(leftMs), 0), maxTimerMs));
    if (!keepsAlive) timer.unref();
  };
  const onTimer = (): void => {
    const leftMs = endMs - performance.now();
    // A timer of Node may go off a moment early, but afterwards the time has passed.
    if (leftMs > 0) wait(leftMs);
    else onTime();
  };
  wait(ms);
  return { stop: () => clearTimeout(timer) };
}

/** Resolves when that time has passed; rejects with the signal's reason when that aborts before. */
export function sleep(ms: number, signal?: AbortSignal, options: TimerOptions = {}): Promise<void> {
  // Most sleeps are aborted: unlike Node's own, this one makes no error with a stack for that.
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onTime = (): void => {
      release?.();
      resolve();
    };
    const timer = startTimer(ms, onTime, options);
    const abort = (): void => {
      timer.stop();
      reject(signal?.reason);
    };
    const release = signal && onAbort(signal, abort);
  });
}

/** Aborts when that time has passed. The process does not wait for it. */
export function timeoutSignal(ms: number): AbortSignal {
  // Node drops its own timeout signal once nothing references it.
  if (ms <= maxTimerMs) return AbortSignal.timeout(Math.max(Math.ceil(ms), 0));
  const controller = new AbortController();
  const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
  startTimer(ms, () => controller.abort(reason), { keepsAlive: false });
  return controller.signal;
}
