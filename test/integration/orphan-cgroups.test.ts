import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { containerdPaths } from "../../src/drivers/containerd/containerd-paths.ts";
import { removeOrphanCgroups } from "../../src/drivers/containerd/remove-orphans.ts";
import { findCgroups, removeCgroups } from "./support/leftovers.ts";

const root = `/berth-orphans-${process.pid}`;
const pod = `${root}/kubepods/besteffort/pod7f8c7c64-0d6c-4d5e-8a3e-0d3f0f1c5b8e`;
const orphanId = "a".repeat(64);
const runningId = "b".repeat(64);

let folder: string;
let inside: ChildProcess;
let ended: Promise<unknown>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-orphan-cgroups-"));
  inside = spawn("sleep", ["300"], { stdio: "ignore" });
  ended = once(inside, "exit");
});
afterEach(async () => {
  inside.kill("SIGKILL");
  await ended;
  removeCgroups(root);
  rmSync(folder, { recursive: true });
});

test("a container's cgroup of which the runtime has nothing is removed with what runs in it, and no other", async () => {
  const paths = containerdPaths(folder);
  mkdirSync(join(paths.state, "io.containerd.runtime.v2.task/k8s.io", runningId), {
    recursive: true,
  });
  for (const hierarchy of hierarchies()) {
    for (const id of [orphanId, runningId])
      mkdirSync(`${hierarchy}${pod}/${id}`, { recursive: true });
    writeFileSync(`${hierarchy}${pod}/${orphanId}/cgroup.procs`, String(inside.pid));
  }
  const removed = await removeOrphanCgroups(paths, root);
  expect(removed.length).toBe(hierarchies().length);
  expect(removed.every((name) => basename(name) === orphanId)).toBe(true);
  await ended;
  expect(findCgroups(`${pod}/${orphanId}`)).toEqual([]);
  expect(findCgroups(`${pod}/${runningId}`).length).toBe(hierarchies().length);
});

test("where the runtime has everything, or there are no pods, nothing is removed", async () => {
  expect(await removeOrphanCgroups(containerdPaths(folder), root)).toEqual([]);
});

/** Those that take processes without any setting. */
function hierarchies(): readonly string[] {
  const base = "/sys/fs/cgroup";
  if (existsSync(`${base}/cgroup.controllers`)) return [base];
  return readdirSync(base)
    .map((name) => join(base, name))
    .filter((name) => /\/(?:memory|pids)$/.test(name));
}
