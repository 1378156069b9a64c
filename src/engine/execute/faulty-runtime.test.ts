// The executor against a runtime that fails at any moment: nothing runs twice, and all comes right in the end.

import fc from "fast-check";
import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { PodSandboxState } from "../../model/generated/cri.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import { RuntimeError } from "../../model/runtime-error.ts";

const pod = testPod({
  initContainers: [
    { name: "proxy", restartPolicy: "Always" },
    { name: "migrate", command: ["sleep", "2"] },
  ],
  containers: [{ name: "web", livenessProbe: {} }, { name: "log" }],
});
const lasting = ["proxy", "web", "log"];

const methods = [
  "RunPodSandbox",
  "StopPodSandbox",
  "PodSandboxStatus",
  "CreateContainer",
  "StartContainer",
  "StopContainer",
  "RemoveContainer",
  "PullImage",
] as const;

const faultOf = (...of: (typeof methods)[number][]) =>
  fc.record({
    method: fc.constantFrom(...of),
    phase: fc.constantFrom("before", "after"),
    code: fc.constantFrom("Unknown", "DeadlineExceeded", "Unavailable"),
    message: fc.constantFrom("broken", 'name "x" is reserved for "y"'),
  });
const fault = faultOf(...methods);
type Fault = typeof fault extends fc.Arbitrary<infer T> ? T : never;

const mishap = fc.oneof(
  fc.record({ kind: fc.constant("faulty-sync" as const), fault }),
  fc.record({ kind: fc.constant("unhealthy" as const), fault: faultOf("StopContainer") }),
  fc.record({ kind: fc.constant("sync" as const) }),
  fc.record({
    kind: fc.constant("exit" as const),
    name: fc.constantFrom(...lasting),
    code: fc.nat(2),
  }),
  fc.record({ kind: fc.constant("crash-sandbox" as const) }),
  fc.record({ kind: fc.constant("cancelled-sync" as const) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(60_000) }),
);
type Mishap = typeof mishap extends fc.Arbitrary<infer T> ? T : never;

async function happen(world: ExecutorWorld, what: Mishap): Promise<void> {
  switch (what.kind) {
    case "sync":
      await world.sync(pod);
      return;
    case "unhealthy": {
      const web = findObserved(await world.read(pod), "web");
      failOnce(world, what.fault);
      const livenessResults = new Map([[web?.id ?? "", "Failure" as const]]);
      await world.clock.run(world.sync(pod, { livenessResults })).catch(() => undefined);
      world.runtime.intercept = () => undefined;
      return;
    }
    case "faulty-sync":
      failOnce(world, what.fault);
      // Reading the pod may fail as well: the worker would come back.
      await world.sync(pod).catch(() => undefined);
      world.runtime.intercept = () => undefined;
      return;
    case "cancelled-sync": {
      const cancel = new AbortController();
      world.runtime.intercept = (method) => {
        if (method === "CreateContainer") cancel.abort(new Error("cancelled"));
      };
      await world.sync(pod, { signal: cancel.signal }).catch(() => undefined);
      world.runtime.intercept = () => undefined;
      return;
    }
    case "exit":
      world.runtime.findContainer(what.name)?.end(what.code);
      return;
    case "crash-sandbox":
      world.runtime.crashSandbox();
      return;
    case "wait":
      await world.clock.advance(what.ms);
  }
}

/** A world in which the pod runs already. */
async function runningWorld(): Promise<ExecutorWorld> {
  const world = new ExecutorWorld();
  for (let round = 0; round < 4; round++) {
    await world.sync(pod);
    await world.clock.advance(2000);
  }
  return world;
}

function failOnce(world: ExecutorWorld, { method, phase, code, message }: Fault): void {
  let left = 1;
  world.runtime.intercept = (called, when) => {
    if (called !== method || when !== phase || left === 0) return;
    left -= 1;
    throw new RuntimeError(method, code, message);
  };
}

function runningNames({ containers }: ObservedPod): string[] {
  return containers.filter(({ state }) => state === "running").map(({ name }) => name);
}

test("whatever fails, no container runs twice, and the pod comes to run", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(mishap, { maxLength: 25, size: "max" }),
      async (runs, mishaps) => {
        const world = runs ? await runningWorld() : new ExecutorWorld();
        for (const what of mishaps) {
          await happen(world, what);
          const running = runningNames(await world.read(pod));
          expect(new Set(running).size).toBe(running.length);
        }
        for (let round = 0; round < 12; round++) {
          await world.sync(pod);
          await world.clock.advance(301_000);
        }
        expect(runningNames(await world.read(pod)).toSorted()).toEqual(lasting.toSorted());
        const state = { state: PodSandboxState.SANDBOX_READY };
        const ready = await world.runtime.listPodSandboxes({ state }, AbortSignal.timeout(10_000));
        expect(ready).toHaveLength(1);
        world.runtime.calls.length = 0;
        await world.sync(pod);
        expect(world.runtime.calls).toEqual([]);
      },
    ),
    { numRuns: 80 },
  );
}, 60_000);

test("whatever fails, a kill that succeeds leaves nothing running", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(mishap, { maxLength: 15, size: "max" }),
      fault,
      async (mishaps, lastFault) => {
        const world = await runningWorld();
        for (const what of mishaps) await happen(world, what);
        failOnce(world, lastFault);
        const failed = await world.clock
          .run(world.kill(pod))
          .then((reports) => reports.some(({ failure }) => failure !== undefined))
          .catch(() => true);
        world.runtime.intercept = () => undefined;
        if (failed) await world.clock.run(world.kill(pod));
        const after = await world.read(pod);
        expect(runningNames(after)).toEqual([]);
        expect(after.sandboxes.filter(({ state }) => state === "ready")).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);
