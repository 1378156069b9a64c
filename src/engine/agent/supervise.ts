import type { Clock } from "../../ports/clock.ts";
import type { Faults } from "./faults.ts";

const firstRestartMs = 1_000;
const longestRestartMs = 60_000;
/** A task that ran for so long begins with the short pause again. */
const soundMs = 300_000;

export interface SuperviseDeps {
  readonly clock: Clock;
  readonly faults: Pick<Faults, "note">;
}

/** Runs a task of the agent until `signal` aborts or it has ended by itself; one that throws is started again after a pause. */
export async function supervise(
  { clock, faults }: SuperviseDeps,
  name: string,
  run: () => Promise<void> | undefined,
  signal: AbortSignal,
): Promise<void> {
  let pauseMs = firstRestartMs;
  while (!signal.aborted) {
    const startedAtMs = clock.monotonicMs();
    try {
      await run();
      return;
    } catch (error) {
      if (signal.aborted) return;
      faults.note(error, "background task", name);
    }
    if (clock.monotonicMs() - startedAtMs >= soundMs) pauseMs = firstRestartMs;
    await clock.sleep(pauseMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, longestRestartMs);
  }
}
