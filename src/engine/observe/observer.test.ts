import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { SimRuntime } from "../../drivers/sim/sim-runtime.ts";
import { VirtualClock } from "../../drivers/sim/virtual-clock.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";
import { Observer } from "./observer.ts";
import { PodCache } from "./pod-cache.ts";

function noop(): void {
  return undefined;
}

/** Events that never come. */
const quiet: RuntimeEvents = {
  name: "cri",
  subscribe: (onSubscribed, _, signal) => {
    onSubscribed();
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  },
};

test("a pod that could not be read is tried again until it can, and then told of even if it is as before", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const reads: number[] = [];
  const changes: string[] = [];
  let isBroken = true;
  const cache = new PodCache((uid) => observer.requestRead(uid));
  const observer = new Observer(
    {
      runtime: new SimRuntime({ clock }),
      eventSources: [quiet],
      readPod: (uid) => {
        reads.push(clock.monotonicMs());
        if (isBroken) return Promise.reject(new Error("the runtime is gone"));
        return Promise.resolve(emptyObservedPod(uid, "a", "ns"));
      },
      cache,
      workOn: () => undefined,
      clock,
      log: silentLog,
      faults: loudFaults,
      onChange: ({ uid }) => void changes.push(uid),
      onHealth: noop,
      onRelist: () => undefined,
    },
    stop.signal,
  );
  const running = observer.run(noop);
  observer.requestRead("1");
  await clock.advance(1000);
  expect(reads).toEqual([0, 100, 300, 700]);
  expect(() => cache.get("1")).toThrow("the runtime is gone");
  isBroken = false;
  await clock.advance(1000);
  expect(reads).toEqual([0, 100, 300, 700, 1500]);
  expect(cache.get("1").uid).toBe("1");
  expect(changes).toEqual(["1"]);
  stop.abort();
  await running;
});

test("a pod that somebody works on is read when the work ends, or soon if that takes long", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const reads: number[] = [];
  let finish: () => void = noop;
  let work: Promise<void> | undefined;
  const begin = (): void => {
    work = new Promise((resolve) => {
      finish = () => {
        work = undefined;
        resolve();
      };
    });
  };
  const cache = new PodCache((uid) => observer.requestRead(uid));
  const observer = new Observer(
    {
      runtime: new SimRuntime({ clock }),
      eventSources: [quiet],
      readPod: (uid) => {
        reads.push(clock.monotonicMs());
        return Promise.resolve(emptyObservedPod(uid, "a", "ns"));
      },
      cache,
      workOn: () => work,
      clock,
      log: silentLog,
      faults: loudFaults,
      onChange: noop,
      onHealth: noop,
      onRelist: noop,
    },
    stop.signal,
  );
  begin();
  void observer.readWhenQuiet("1");
  void observer.readWhenQuiet("1");
  await clock.advance(100);
  expect(reads).toEqual([]);
  finish();
  await clock.advance(100);
  expect(reads).toEqual([100]);

  begin();
  void observer.readWhenQuiet("1");
  await clock.advance(2000);
  expect(reads).toEqual([100, 1200]);

  void observer.readWhenQuiet("1");
  await clock.advance(10);
  observer.requestRead("1");
  finish();
  await clock.advance(1000);
  expect(reads).toEqual([100, 1200, 2210]);
  stop.abort();
});
