import { Backoff } from "../../lib/backoff.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Faults } from "./faults.ts";

const restartLimits = { initialMs: 1_000, maxMs: 60_000 };
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
  const backoff = new Backoff(restartLimits);
  while (!signal.aborted) {
    const startedAtMs = clock.monotonicMs();
    try {
      await run();
      return;
    } catch (error) {
      if (signal.aborted) return;
      faults.note(error, "background task", name);
    }
    if (clock.monotonicMs() - startedAtMs >= soundMs) backoff.reset();
    await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
  }
}
