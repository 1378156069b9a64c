import { execFileSync } from "node:child_process";
import { type FileHandle, mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podUid } from "../../src/model/ids.ts";
import { never, podWith, VolumeWorld } from "./support/volume-world.ts";

let world: VolumeWorld;
let server: FileHandle;

beforeEach(async () => {
  world = await VolumeWorld.create();
  server = await open("/dev/fuse", "r+");
});

afterEach(async () => {
  // Processes that still wait for an answer get an error when the server goes.
  await server.close();
  await world[Symbol.asyncDispose]();
});

/** Mounts a file system whose server never answers. */
async function mountHung(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
  execFileSync("mount", ["-i", "-t", "fuse", "-o", options, "hung", path], {
    stdio: ["ignore", "inherit", "inherit", server.fd],
  });
}

test("a host path that does not answer holds up its pod alone, and says so", async () => {
  const path = join(world.folder, "hung/below");
  await mountHung(join(world.folder, "hung"));
  const stuck = podWith([{ name: "host", hostPath: { path, type: "Directory" } }]);
  const other = podWith([{ name: "disk", emptyDir: {} }]);
  void world.mount(stuck);
  const metadata = { ...other.metadata, uid: podUid("uid-2") };
  expect((await world.mount({ ...other, metadata })).ok).toBe(true);
  const problem = `the file system of ${path} does not answer`;
  await expect.poll(() => world.events.join(), { timeout: 30_000 }).toContain(problem);
});

test("a mount that does not answer is taken off a volume that goes", async () => {
  const pod = podWith([{ name: "disk", emptyDir: {} }]);
  const manager = world.manager();
  await world.mount(pod);
  const folder = manager.mountedVolumes(podUid("uid-1")).get("disk")?.path ?? "";
  await mountHung(join(folder, "a/hung"));
  await world.unmount(podUid("uid-1"));
  expect(await world.mounts()).toEqual([]);
  expect(await readdir(join(world.root, "pods/uid-1"))).toEqual(["plugins"]);
});

test("a removal stops at a mount that appears in the way", async () => {
  const inside = join(world.folder, "tree/a/mounted");
  await mountHung(inside);
  await expect(world.foreignFiles.removeTree(join(world.folder, "tree"), never)).rejects.toThrow(
    /cannot delete .*tree: .*mounted is a mount point; unmount it first/,
  );
  expect(await world.mounts()).toEqual([inside]);
});
