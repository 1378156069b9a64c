import { Session } from "node:inspector/promises";
import { sleep } from "../lib/timers.ts";
import type { ProfileKind } from "../ports/agent-calls.ts";

/** A profile of the thread that calls this, as the JSON that the developer tools of browsers read. */
export async function takeProfile(
  kind: ProfileKind,
  durationMs: number,
  signal: AbortSignal,
): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    if (kind === "heap") {
      await session.post("HeapProfiler.startSampling");
      await sleep(durationMs, signal);
      return JSON.stringify((await session.post("HeapProfiler.stopSampling")).profile);
    }
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await sleep(durationMs, signal);
    return JSON.stringify((await session.post("Profiler.stop")).profile);
  } finally {
    session.disconnect();
  }
}
