import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { PodTable } from "../pods/pod-table.ts";
import { RuntimeHealth } from "./runtime-health.ts";

/** A runtime whose Status answers as `answer` says. */
function setUp() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const answer = { error: undefined as Error | undefined, networkReady: true };
  const runtime = {
    status: () => {
      if (answer.error !== undefined) return Promise.reject(answer.error);
      const network = {
        type: "NetworkReady",
        status: answer.networkReady,
        reason: "r",
        message: "m",
      };
      return Promise.resolve({ status: { conditions: [network] } });
    },
  };
  let reportCount = 0;
  let wellCount = 0;
  const looks: string[] = [];
  const table = new PodTable();
  new PodRegistry(table).set(testPod({ containers: [{ name: "web" }] }));
  const health = new RuntimeHealth({
    runtime,
    clock,
    table,
    wakeups: {
      look: (uid) => void looks.push(uid),
      resume: () => void wellCount++,
      updateNode: () => void reportCount++,
    },
  });
  const running = health.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return {
    clock,
    health,
    answer,
    looks,
    reportCount: () => reportCount,
    wellCount: () => wellCount,
    end,
  };
}

test("the runtime counts as unusable until it was listed", async () => {
  const { clock, health, wellCount, end } = setUp();
  await clock.advance(100);
  expect(health.problem).toBe("the container runtime has not answered yet");
  expect(wellCount()).toBe(0);
  health.note(undefined);
  expect(health.problem).toBeUndefined();
  expect(wellCount()).toBe(1);
  await end();
});

test("a status that failed is forgotten with the next one that is answered", async () => {
  const { clock, health, answer, wellCount, end } = setUp();
  answer.error = new Error("connection refused");
  await clock.advance(1000);
  health.note(undefined);
  expect(health.problem).toBe("connection refused");
  expect(wellCount()).toBe(0);
  answer.error = undefined;
  await clock.advance(1000);
  expect(health.problem).toBeUndefined();
  expect(wellCount()).toBe(1);
  await end();
});

test("a listing that failed counts until one succeeds, whatever the status says", async () => {
  const { clock, health, end } = setUp();
  health.note("cannot list");
  await clock.advance(5000);
  expect(health.problem).toBe("cannot list");
  health.note(undefined);
  expect(health.problem).toBeUndefined();
  await end();
});

test("every wanted pod is synced when the network has become ready", async () => {
  const { clock, health, answer, looks, end } = setUp();
  health.note(undefined);
  answer.networkReady = false;
  await clock.advance(61_000);
  expect(health.networkProblem).toBe(
    "container runtime network not ready: NetworkReady=false reason:r message:m",
  );
  expect(looks).toEqual([]);
  answer.networkReady = true;
  await clock.advance(1000);
  expect(health.networkProblem).toBeUndefined();
  expect(looks).toHaveLength(1);
  await end();
});

test("the node reports the runtime's silence only after a while, and what it can do", async () => {
  const { clock, health, answer, reportCount, end } = setUp();
  expect(health.report.problems).toEqual([
    "container runtime status check may not have completed yet",
  ]);
  health.note(undefined);
  await clock.advance(100);
  expect(health.report).toEqual({ problems: [], handlers: [], features: undefined });
  expect(reportCount()).toBe(1);
  answer.error = new Error("connection refused");
  health.note("its events have ended");
  await clock.advance(29_000);
  expect(health.report.problems).toEqual([]);
  await clock.advance(6000);
  expect(health.report.problems).toEqual(["container runtime is down"]);
  expect(reportCount()).toBe(2);
  await end();
});
