import { expect, test } from "vitest";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { SimMounts } from "../../drivers/sim/sim-mounts.ts";
import { cleanUpMountPoint, undoMount } from "./mount-points.ts";

const never = new AbortController().signal;
const path = "/root/pods/uid/volumes/nfs/data";

async function newWorld() {
  const files = new MemoryFiles();
  const mounts = new SimMounts();
  await files.ensureFolder(path);
  const mount = { source: "server:/export", target: path, fileSystem: "nfs", options: [] };
  return { files, mounts, mount: () => mounts.mount({ ...mount, withoutSystemd: true }) };
}

test("what is mounted is unmounted, and its folder removed", async () => {
  const { files, mounts, mount } = await newWorld();
  await mount();
  const done = { ok: true, value: undefined };
  expect(await cleanUpMountPoint({ files, mounts }, path, {}, never)).toEqual(done);
  expect(mounts.paths).toEqual([]);
  expect(await files.realPath(path)).toBeUndefined();
  expect(await cleanUpMountPoint({ files, mounts }, path, {}, never)).toEqual(done);
});

test("files that lie in the folder below the mount are kept, and named as the reason", async () => {
  const { files, mounts, mount } = await newWorld();
  await mount();
  await files.writeFile(`${path}/kept`, "content");
  const result = await cleanUpMountPoint({ files, mounts }, path, {}, never);
  expect(result).toEqual({ ok: false, error: `remove ${path}: directory not empty` });
  expect(await files.readText(`${path}/kept`)).toBe("content");
});

test("a mount that failed leaves nothing behind, also when half of it succeeded", async () => {
  const { files, mounts, mount } = await newWorld();
  await mount();
  await undoMount({ files, mounts }, path, never);
  expect(mounts.paths).toEqual([]);
  expect(await files.realPath(path)).toBeUndefined();
});
