import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CgroupsV2 } from "./cgroups-v2.ts";

const podPath = "/kubepods/burstable/pod1234";
const signal = new AbortController().signal;
let mountPoint = "";

/** Makes a folder with the files that the kernel gives a cgroup. */
function makeCgroup(path: string, files: readonly string[]): void {
  mkdirSync(join(mountPoint, path), { recursive: true });
  for (const file of files) writeFileSync(join(mountPoint, path, file), "");
}

function fileText(path: string): string {
  return readFileSync(join(mountPoint, path), "utf8");
}

function open(controllers = "cpuset cpu memory hugetlb pids"): CgroupsV2 {
  writeFileSync(join(mountPoint, "cgroup.controllers"), `${controllers}\n`);
  return new CgroupsV2({ root: "/kubepods", mountPoint, hugePageSizes: [2_097_152n] });
}

beforeEach(() => {
  mountPoint = mkdtempSync(join(tmpdir(), "berth-cgroup-"));
});

afterEach(() => {
  rmSync(mountPoint, { recursive: true });
});

test("values are written in the unified hierarchy's own terms", async () => {
  makeCgroup(podPath, [
    "cpu.weight",
    "cpu.max",
    "memory.max",
    "memory.min",
    "pids.max",
    "hugetlb.2MB.max",
    "hugetlb.1GB.max",
  ]);
  await open().create(podPath, {
    cpuShares: 1024,
    cpuQuotaUs: 50_000,
    cpuPeriodUs: 100_000,
    memoryBytes: 67_108_864n,
    pidsLimit: 100,
    hugePageLimits: new Map([[1_073_741_824n, 2_147_483_648n]]),
    unified: { "memory.min": "1048576" },
  });
  expect(fileText(`${podPath}/cpu.weight`)).toBe("39");
  expect(fileText(`${podPath}/cpu.max`)).toBe("50000 100000");
  expect(fileText(`${podPath}/memory.max`)).toBe("67108864");
  expect(fileText(`${podPath}/memory.min`)).toBe("1048576");
  expect(fileText(`${podPath}/pids.max`)).toBe("100");
  expect(fileText(`${podPath}/hugetlb.1GB.max`)).toBe("2147483648");
  expect(fileText(`${podPath}/hugetlb.2MB.max`)).toBe("0");
});

test("all above a new cgroup pass every controller on, the cgroup itself does not", async () => {
  for (const path of ["/", "/kubepods", "/kubepods/burstable", podPath]) {
    makeCgroup(path, ["cgroup.subtree_control"]);
  }
  await open("cpu memory").create(podPath, {});
  for (const path of ["", "/kubepods", "/kubepods/burstable"]) {
    expect(fileText(`${path}/cgroup.subtree_control`)).toBe("+cpu +memory");
  }
  expect(fileText(`${podPath}/cgroup.subtree_control`)).toBe("");
});

test("a cgroup exists only with every controller that the machine has", () => {
  const cgroups = open("cpu memory io");
  expect(cgroups.exists(podPath)).toBe(false);
  makeCgroup(podPath, []);
  writeFileSync(join(mountPoint, podPath, "cgroup.controllers"), "cpu");
  expect(cgroups.exists(podPath)).toBe(false);
  writeFileSync(join(mountPoint, podPath, "cgroup.controllers"), "memory cpu");
  expect(cgroups.exists(podPath)).toBe(true);
});

test("what is in force is read back in the terms it is set in", () => {
  makeCgroup(podPath, []);
  writeFileSync(join(mountPoint, podPath, "cpu.max"), "max 100000\n");
  writeFileSync(join(mountPoint, podPath, "cpu.weight"), "39\n");
  writeFileSync(join(mountPoint, podPath, "memory.max"), "max\n");
  writeFileSync(join(mountPoint, podPath, "memory.current"), "4096\n");
  const cgroups = open();
  expect(cgroups.read(podPath)).toEqual({
    cpuShares: 998,
    cpuQuotaUs: -1,
    cpuPeriodUs: 100_000,
    memoryBytes: -1n,
  });
  expect(cgroups.readMemoryUsageBytes(podPath)).toBe(4096n);
});

test("a lifted limit is written as max", async () => {
  makeCgroup(podPath, ["cpu.max", "memory.max", "pids.max"]);
  await open().update(podPath, { cpuQuotaUs: -1, memoryBytes: -1n, pidsLimit: 0 });
  expect(fileText(`${podPath}/cpu.max`)).toBe("max 100000");
  expect(fileText(`${podPath}/memory.max`)).toBe("max");
  expect(fileText(`${podPath}/pids.max`)).toBe("max");
});

test("a file that the kernel does not have is named", async () => {
  makeCgroup(podPath, []);
  await expect(open().update(podPath, { cpuShares: 2 })).rejects.toThrow(
    /cannot write 1 to .*cpu\.weight: ENOENT/,
  );
});

test("removal takes the tree below and nothing beside", async () => {
  const cgroups = open();
  makeCgroup(`${podPath}/container`, []);
  makeCgroup("/kubepods/burstable/pod5678", []);
  expect(cgroups.listChildren("/kubepods/burstable")).toHaveLength(2);
  await cgroups.remove(podPath, signal);
  expect(cgroups.listChildren("/kubepods/burstable")).toEqual(["pod5678"]);
  await expect(cgroups.remove("/system.slice", signal)).rejects.toThrow("not Berth's to change");
});
