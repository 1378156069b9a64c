import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { testHistory } from "../../../test/kit/test-history.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import { SourceReadiness } from "../intake/source-readiness.ts";
import { WorkerStates } from "../pods/worker-states.ts";
import { ContainerCollector } from "./garbage-collection.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const { uid } = pod.metadata;
const never = new AbortController().signal;
const scope = { evictNonDeletedPods: false };

/** The collector on a runtime that has an ended pod which no source wants. */
async function setUp() {
  const world = new ExecutorWorld();
  const { runtime, files, clock, table } = world;
  await world.sync(pod);
  await world.kill(pod);
  await clock.advance(1_000);
  const sources = new SourceReadiness(["file"]);
  sources.noteHandled("file");
  const states = new WorkerStates(table);
  states.noteSynced();
  const collector = new ContainerCollector({
    runtime,
    files,
    foreignFiles: { removeTree: () => Promise.resolve() },
    clock,
    log: silentLog,
    settings: {
      policy: { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 },
      podLogsRoot: "/logs",
    },
    sources,
    states,
    observed: { hasDead: true },
    nodeEvents: testHistory(),
  });
  return { world, collector, removals: table.writer("removal") };
}

test("what a gone pod left in the runtime is collected, unless it is being removed with all else of it", async () => {
  const { world, collector, removals } = await setUp();
  removals.set(uid, { state: "running", ended: Promise.resolve() });
  expect(await collector.plan(scope, never)).toEqual([]);
  await collector.collect(scope, never);
  expect((await world.read(pod)).sandboxes).toHaveLength(1);

  removals.set(uid, undefined);
  const planned = await collector.plan(scope, never);
  expect(planned.map(({ kind }) => kind)).toEqual(["container", "sandbox"]);
  await collector.collect(scope, never);
  expect((await world.read(pod)).sandboxes).toEqual([]);
});

test("a sandbox that is gone by the time it is collected does not fail the collection", async () => {
  const { world, collector } = await setUp();
  const { runtime } = world;
  const stop = runtime.stopPodSandbox.bind(runtime);
  runtime.stopPodSandbox = async (id, signal) => {
    await stop(id, signal);
    throw new RuntimeError("StopPodSandbox", "NotFound", "no such sandbox");
  };
  await collector.collect(scope, never);
  expect((await world.read(pod)).sandboxes).toEqual([]);
});
