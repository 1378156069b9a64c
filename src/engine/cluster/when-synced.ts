import { noLongerNeeded, withEither } from "../../lib/with-either.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Reflector } from "./reflector.ts";

/** How long the use of an object waits for the API server to send it. */
const longestWaitMs = 1000;

/** Waits a short time for the first complete set of each. */
export async function whenSynced(
  reflectors: readonly Pick<Reflector<object>, "isSynced" | "whenSynced">[],
  clock: Pick<Clock, "sleep">,
  signal: AbortSignal,
): Promise<void> {
  const late = reflectors.filter(({ isSynced }) => !isSynced);
  if (late.length === 0) return;
  const done = new AbortController();
  await withEither([signal, done.signal], async (ended) => {
    const synced = Promise.all(late.map((reflector) => reflector.whenSynced(ended)));
    try {
      await Promise.race([synced, clock.sleep(longestWaitMs, ended)]);
    } finally {
      done.abort(noLongerNeeded);
      await synced.catch(() => undefined);
    }
  });
}
