import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import { type ReadHint, readPod } from "./pod-reader.ts";
import { listRuntime } from "./runtime-listing.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const { uid } = pod.metadata;
const signal = new AbortController().signal;

async function startedPod() {
  const world = new ExecutorWorld();
  await world.sync(pod);
  const { runtime, clock } = world;
  const deps = { runtime, clock, runtimeName: "sim" };
  return { world, read: (hint?: ReadHint) => readPod(deps, uid, signal, hint) };
}

test("a pod that was read before is read as it is now", async () => {
  const { world, read } = await startedPod();
  const before = await read();
  expect(await read({ before })).toEqual(before);
  await world.kill(pod);
  await world.runtime.removeContainer(
    runtimeContainerId(before.containers[0]?.id.replace("sim://", "") ?? ""),
    signal,
  );
  await world.sync(pod);
  const after = await read();
  expect(after.sandboxes).toHaveLength(2);
  expect(after.containers).not.toEqual(before.containers);
  expect(await read({ before })).toEqual(after);
});

test("a pod of a list is read without being listed again", async () => {
  const { world, read } = await startedPod();
  const { pods } = await listRuntime(world.runtime, world.clock, signal);
  const plain = await read();
  world.runtime.listContainers = () => Promise.reject(new Error("asked again"));
  expect(await read({ listed: pods.get(uid) })).toEqual(plain);
  await expect(read()).rejects.toThrow("asked again");
});
