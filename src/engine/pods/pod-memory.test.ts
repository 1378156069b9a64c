import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { StageWorld } from "../../../test/sim/stage-world.ts";
import { podUid } from "../../model/ids.ts";

const uidA = podUid("uid-a");

async function remembered(): Promise<StageWorld> {
  const world = await new StageWorld().start();
  await world.memory.load();
  await world.memory.ephemeral.set(uidA, [{ name: "debugger", image: "shell" }]);
  world.memory.checkpoints.save(uidA, { phase: "Succeeded" });
  await world.memory.checkpoints.flush();
  return world;
}

test("all files about a pod are removed", async () => {
  const world = await remembered();
  expect(world.table.get(uidA)?.checkpoint !== undefined).toBe(true);
  await world.memory.remove(uidA);
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  expect(world.table.get(uidA)?.checkpoint !== undefined).toBe(false);
});

test("the checkpoint goes last: while another file cannot be removed, the next agent still finds the pod", async () => {
  const world = await remembered();
  const removeFile = world.files.removeFile.bind(world.files);
  world.files.removeFile = (path) =>
    path.includes("/ephemeral/") ? Promise.reject(new Error("read-only")) : removeFile(path);
  await expect(world.memory.remove(uidA)).rejects.toThrow("read-only");
  expect(await world.whatIsOnDisk("uid-a")).toEqual([
    "statuses/uid-a.json",
    "ephemeral/uid-a.json",
  ]);
  world.files.removeFile = removeFile;
  await world.memory.remove(uidA);
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
});

test("a pod that comes back while its ephemeral containers are removed keeps the status of its new life", async () => {
  const world = await remembered();
  const remove = world.files.removeFile.bind(world.files);
  world.files.removeFile = async (path) => {
    await remove(path);
    if (!path.includes("/ephemeral/")) return;
    world.registry.set(testPod({ containers: [{ name: "main" }] }, { uid: uidA }));
    world.memory.checkpoints.save(uidA, { phase: "Failed" });
  };
  await world.memory.remove(uidA);
  await world.memory.checkpoints.flush();
  expect(world.table.get(uidA)?.checkpoint?.written).toEqual({ phase: "Failed" });
  expect(await world.whatIsOnDisk("uid-a")).toEqual(["statuses/uid-a.json"]);
});

test("so does one that has gone again", async () => {
  const world = await remembered();
  const pod = testPod({ containers: [{ name: "main" }] }, { uid: uidA });
  const remove = world.files.removeFile.bind(world.files);
  world.files.removeFile = async (path) => {
    await remove(path);
    if (!path.includes("/ephemeral/")) return;
    world.changes.noteRemoved(pod);
    world.memory.checkpoints.save(uidA, { phase: "Failed" });
  };
  await world.memory.remove(uidA);
  await world.memory.checkpoints.flush();
  expect(world.table.get(uidA)?.checkpoint?.written).toEqual({ phase: "Failed" });
});
