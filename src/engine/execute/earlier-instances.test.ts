import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { OutlivedCall } from "../../drivers/sim/sim-call-gate.ts";
import { RuntimeError } from "../../model/runtime-error.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const lateMs = 60_000;

/** The next such call is given up by its caller, and carried out a minute later. */
function outliveOnce(world: ExecutorWorld, method: string): void {
  let left = 1;
  world.runtime.intercept = (called, phase) => {
    if (called !== method || phase !== "before" || left === 0) return;
    left -= 1;
    const answer = new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
    throw new OutlivedCall(answer, world.clock.sleep(lateMs, new AbortController().signal));
  };
}

async function webs(world: ExecutorWorld): Promise<readonly string[]> {
  const { containers } = await world.read(pod);
  return containers.map(({ restartCount, state }) => `${restartCount} ${state}`);
}

test("a start that is carried out late does not run beside its successor", async () => {
  const world = new ExecutorWorld();
  outliveOnce(world, "StartContainer");
  await world.sync(pod);
  expect(await webs(world)).toEqual(["0 created"]);
  await world.sync(pod);
  expect(await webs(world)).toEqual(["1 running"]);
  await world.clock.advance(lateMs);
  expect(await webs(world)).toEqual(["1 running"]);
});

test("a container that starts after all gets no successor", async () => {
  const world = new ExecutorWorld();
  outliveOnce(world, "StartContainer");
  await world.sync(pod);
  // It starts after the agent has looked and before it acts.
  let asked = 0;
  world.runtime.intercept = async (method, phase) => {
    if (method !== "ContainerStatus" || phase !== "before") return;
    asked += 1;
    if (asked === 2) await world.clock.advance(lateMs);
  };
  const reports = await world.sync(pod);
  expect(reports.map(({ kind, failure }) => [kind, failure])).toEqual([
    ["remove-container", undefined],
    ["start-container", undefined],
  ]);
  expect(reports.at(-1)?.note).toContain("an instance that an earlier call started runs");
  expect(await webs(world)).toEqual(["0 running"]);
});

test("a container that is made late, after its successor, does not have it replaced", async () => {
  const world = new ExecutorWorld();
  outliveOnce(world, "CreateContainer");
  await world.sync(pod);
  expect(await webs(world)).toEqual([]);
  await world.sync(pod);
  expect(await webs(world)).toEqual(["1 running"]);
  await world.clock.advance(lateMs);
  expect(await webs(world)).toEqual(["1 running", "0 created"]);
  world.runtime.calls.length = 0;
  await world.sync(pod);
  expect(world.runtime.calls.map(({ method }) => method)).toEqual(["RemoveContainer"]);
  expect(await webs(world)).toEqual(["1 running"]);
});

test("what cannot be removed lets no successor start", async () => {
  const world = new ExecutorWorld();
  outliveOnce(world, "StartContainer");
  await world.sync(pod);
  world.runtime.intercept = (method) => {
    if (method === "RemoveContainer") throw new RuntimeError(method, "Unknown", "it is starting");
  };
  const reports = await world.sync(pod);
  const start = reports.find(({ kind }) => kind === "start-container");
  expect(start?.failure).toMatchObject({ code: "CreateContainerError" });
  expect(start?.failure?.message).toContain("it is starting");
  expect(await webs(world)).toEqual(["0 created"]);
});
