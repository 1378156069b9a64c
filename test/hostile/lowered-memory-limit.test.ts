// A pod fills its memory with cached files; lowering a limit above it makes the kernel free them inside the write.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseCgroupMounts } from "../../src/drivers/linux/cgroup-mounts.ts";
import { openCgroups } from "../../src/drivers/linux/open-cgroups.ts";
import type { Cgroups } from "../../src/ports/cgroups.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";

const root = `/berth-hostile-${process.pid}`;
const path = `${root}/pod`;
const cachedMebibytes = 192;
const limitBytes = 8n * 2n ** 20n;
const fewTurns = 20;

let folder: string;
let cgroups: Cgroups;

beforeEach(() => {
  folder = makeTestFolder("limit");
  cgroups = openCgroups(root);
});
afterEach(async () => {
  await cgroups.remove(root, AbortSignal.timeout(60_000));
  rmSync(folder, { recursive: true });
});

/** Leaves the cgroup with that much of cached file, and no process. */
function fillCache(): void {
  const { v1, v2 = "" } = parseCgroupMounts(readFileSync("/proc/self/mountinfo", "utf8"));
  const procs = join(v1.get("memory") ?? v2, path, "cgroup.procs");
  const script = join(folder, "fill.sh");
  writeFileSync(
    script,
    `echo $$ > ${procs}\nexec dd if=/dev/zero of=${folder}/file bs=1M count=${cachedMebibytes} status=none\n`,
  );
  execFileSync("sh", [script]);
}

test("the agent's thread goes on while the kernel frees memory", async () => {
  await cgroups.create(path, {});
  fillCache();
  expect(cgroups.readMemoryUsageBytes(path)).toBeGreaterThan(limitBytes * 4n);
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await cgroups.update(path, { memoryBytes: limitBytes });
  isDone = true;
  expect(cgroups.readMemoryUsageBytes(path)).toBeLessThanOrEqual(limitBytes);
  expect(turns).toBeGreaterThan(fewTurns);
});

test("of two limits the later one counts, also when the earlier one is slow", async () => {
  await cgroups.create(path, {});
  fillCache();
  const lower = cgroups.update(path, { memoryBytes: limitBytes });
  await Promise.all([lower, cgroups.update(path, { memoryBytes: limitBytes * 2n })]);
  expect(cgroups.read(path).memoryBytes).toBe(limitBytes * 2n);
});
