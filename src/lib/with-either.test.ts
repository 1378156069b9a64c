import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { withEither } from "./with-either.ts";

const untilAborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });

describe("withEither", () => {
  it("aborts with whichever signal comes first, and with its reason", async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const reason = withEither([one.signal, other.signal], untilAborted);
    other.abort("late");
    await expect(reason).resolves.toBe("late");
  });

  it("is aborted at once when one is already", async () => {
    const signals = [AbortSignal.abort("before"), new AbortController().signal];
    await expect(withEither(signals, untilAborted)).resolves.toBe("before");
  });

  it("no longer follows the signals once the work has ended, however it did", async () => {
    const end = new AbortController();
    const given: AbortSignal[] = [];
    const both = [end.signal, new AbortController().signal];
    await withEither(both, async (either) => void given.push(either));
    await withEither(both, async (either) => {
      given.push(either);
      throw new Error("no");
    }).catch(() => undefined);
    // The one that a signal has for all its callbacks.
    expect(getEventListeners(end.signal, "abort")).toHaveLength(1);
    end.abort();
    expect(given.map(({ aborted }) => aborted)).toEqual([false, false]);
  });
});
