import type { Clock } from "../../ports/clock.ts";
import type { Reflector } from "./reflector.ts";

/** How long the use of an object waits for the API server to tell of it. */
const longestWaitMs = 1000;

/** Waits a short time for what was never heard of. */
export async function whenSynced(
  reflectors: readonly Pick<Reflector<object>, "isSynced" | "whenSynced">[],
  clock: Pick<Clock, "sleep">,
  signal: AbortSignal,
): Promise<void> {
  const late = reflectors.filter(({ isSynced }) => !isSynced);
  if (late.length === 0) return;
  const done = new AbortController();
  const ended = AbortSignal.any([signal, done.signal]);
  const synced = Promise.all(late.map((reflector) => reflector.whenSynced(ended)));
  try {
    await Promise.race([synced, clock.sleep(longestWaitMs, ended)]);
  } finally {
    done.abort(new Error("no longer waited for"));
    await synced.catch(() => undefined);
  }
}
