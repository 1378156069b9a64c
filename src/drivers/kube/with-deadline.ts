import { startTimer } from "../../lib/timers.ts";

/** Thrown when something took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Runs with a signal that aborts with `signal`, or with a DeadlineError after `ms`. */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  run: (signal: AbortSignal, cancelDeadline: () => void) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const forward = (): void => controller.abort(signal.reason);
  if (signal.aborted) forward();
  signal.addEventListener("abort", forward, { once: true });
  const timer = startTimer(ms, () => {
    controller.abort(new DeadlineError(`no answer within ${ms / 1000} s`));
  });
  try {
    return await run(controller.signal, () => timer.stop());
  } finally {
    timer.stop();
    signal.removeEventListener("abort", forward);
  }
}
