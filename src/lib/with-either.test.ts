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

  it("leaves nothing at the signals, however the work ends", async () => {
    const { signal } = new AbortController();
    await withEither([signal], () => Promise.resolve());
    await withEither([signal], () => Promise.reject(new Error("no"))).catch(() => undefined);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
