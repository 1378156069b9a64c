import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { podUid } from "../../model/ids.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { FlightRecorder } from "../view/flight-recorder.ts";
import { Faults } from "./faults.ts";
import { supervise } from "./supervise.ts";

function setUp(showAtPod: (uid: string, message: string) => void = () => undefined) {
  const clock = new VirtualClock();
  const logged: unknown[] = [];
  const log = {
    ...silentLog,
    error: (message: string, fields?: object) => void logged.push({ message, ...fields }),
  };
  const metrics = new MetricsRegistry(metricDefinitions);
  const table = new PodTable();
  new PodRegistry(table).set(testPod({ containers: [{ name: "web" }] }));
  const events = {
    record: ({ metadata }: { metadata: { uid: string } }, { message }: { message: string }) =>
      showAtPod(metadata.uid, message),
  };
  const recorder = new FlightRecorder(table, testHistory(table));
  const faults = new Faults({ log, metrics, clock, table, events, recorder });
  return { clock, logged, metrics, recorder, faults };
}

test("an exception about a pod is logged with its stack, counted and shown, and nothing is thrown", () => {
  const shown: string[] = [];
  const { faults, logged, metrics } = setUp((uid, message) => void shown.push(`${uid} ${message}`));
  const fail = (): number => {
    throw new TypeError("broken");
  };
  expect(faults.attempt("probe", podUid("uid-1"), fail)).toBeUndefined();
  expect(faults.attempt("probe", podUid("uid-1"), () => 7)).toBe(7);
  expect(shown).toEqual(["uid-1 unexpected error (probe): broken"]);
  expect(logged).toEqual([
    {
      message: "unexpected error",
      during: "probe",
      subject: "uid-1",
      error: "broken",
      stack: expect.stringContaining("faults.test.ts"),
    },
  ]);
  expect(metrics.text(() => true)).toContain('berth_unexpected_errors_total{during="probe"} 1');
});

test("an exception about a pod is recorded without saying what the runtime has of it", () => {
  const { faults, recorder } = setUp();
  faults.note(new Error("broken"), "probe", "uid-1");
  const record = recorder.last(podUid("uid-1"));
  expect(record).toMatchObject({ error: "unexpected error (probe): broken" });
  expect(record?.seen).toBeUndefined();
});

test("the same one is logged once a minute and counted every time", async () => {
  const { faults, logged, clock, metrics } = setUp();
  for (let times = 0; times < 5; times += 1) faults.note(new Error("again"), "sync", "uid-1");
  expect(logged).toHaveLength(1);
  faults.note(new Error("again"), "sync", "uid-2");
  expect(logged).toHaveLength(2);
  await clock.advance(60_000);
  faults.note(new Error("again"), "sync", "uid-1");
  expect(logged).toHaveLength(3);
  expect(metrics.text(() => true)).toContain('berth_unexpected_errors_total{during="sync"} 7');
});

test("what cannot be shown at the pod is logged all the same", () => {
  const { faults, logged } = setUp(() => {
    throw new Error("no events");
  });
  faults.note(new Error("broken"), "sync", "uid-1");
  expect(logged).toHaveLength(2);
});

test("a task that throws is started again after growing pauses, and one that ends is not", async () => {
  const { faults, clock, logged } = setUp();
  const startedAtMs: number[] = [];
  const stop = new AbortController();
  const run = (): Promise<void> => {
    startedAtMs.push(clock.monotonicMs());
    return startedAtMs.length < 4 ? Promise.reject(new Error("broken")) : Promise.resolve();
  };
  const supervised = supervise({ clock, faults }, "collector", run, stop.signal);
  await clock.advance(20_000);
  await supervised;
  expect(startedAtMs).toEqual([0, 1000, 3000, 7000]);
  expect(logged).toHaveLength(1);
});
