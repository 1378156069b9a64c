import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parseCgroupMounts } from "./cgroup-mounts.ts";
import { CgroupsV1 } from "./cgroups-v1.ts";

const mounts = parseCgroupMounts(readFileSync("/proc/self/mountinfo", "utf8"));
const root = `/berth-test-${process.pid}`;
const podPath = `${root}/burstable/pod1234`;
const signal = new AbortController().signal;

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const canTest = mounts.v1.has("cpu") && [...mounts.v1.values()].every(isWritable);

describe.runIf(canTest)("on this machine's own hierarchies", () => {
  const cgroups = new CgroupsV1({ root, mounts, hugePageSizes: [] });
  const fileOf = (controller: string, path: string, file: string) =>
    join(mounts.v1.get(controller) ?? "", path, file);
  const children: ChildProcess[] = [];

  function runInside(path: string): { child: ChildProcess; pid: number } {
    const child = spawn("sleep", ["1000"], { stdio: "ignore" });
    children.push(child);
    const { pid } = child;
    if (pid === undefined) throw new Error("sleep did not start");
    for (const mountPoint of new Set(mounts.v1.values())) {
      writeFileSync(join(mountPoint, path, "cgroup.procs"), String(pid));
    }
    return { child, pid };
  }

  afterEach(async () => {
    await cgroups.remove(root, signal);
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  test("a new cgroup is in every hierarchy with the values it was given", async () => {
    expect(cgroups.exists(podPath)).toBe(false);
    await cgroups.create(podPath, {
      cpuShares: 512,
      cpuQuotaUs: 50_000,
      cpuPeriodUs: 100_000,
      memoryBytes: 67_108_864n,
      pidsLimit: 100,
    });
    expect(cgroups.exists(podPath)).toBe(true);
    expect(cgroups.read(podPath)).toEqual({
      cpuShares: 512,
      cpuQuotaUs: 50_000,
      cpuPeriodUs: 100_000,
      memoryBytes: 67_108_864n,
    });
    expect(readFileSync(fileOf("pids", podPath, "pids.max"), "utf8")).toBe("100\n");
    for (const mountPoint of mounts.v1.values()) {
      expect(existsSync(join(mountPoint, podPath))).toBe(true);
    }
    expect(cgroups.readMemoryUsageBytes(podPath)).toBe(0n);
  });

  test("an update changes what it names and leaves the rest", async () => {
    await cgroups.create(podPath, { cpuShares: 512, memoryBytes: 67_108_864n });
    await cgroups.update(podPath, { cpuShares: 2 });
    expect(cgroups.read(podPath)).toMatchObject({ cpuShares: 2, memoryBytes: 67_108_864n });
  });

  test("a shorter period with a lower quota is taken below a parent's quota", async () => {
    await cgroups.create(root, { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 });
    await cgroups.create(podPath, { cpuQuotaUs: 100_000, cpuPeriodUs: 100_000 });
    await cgroups.update(podPath, { cpuQuotaUs: 10_000, cpuPeriodUs: 20_000 });
    expect(cgroups.read(podPath)).toMatchObject({ cpuQuotaUs: 10_000, cpuPeriodUs: 20_000 });
  });

  test("what the kernel refuses is named after the rest was set", async () => {
    await cgroups.create(podPath, {});
    await expect(cgroups.update(podPath, { cpuQuotaUs: 1, pidsLimit: 7 })).rejects.toThrow(
      /cannot write 1 to .*cpu\.cfs_quota_us: EINVAL/,
    );
    expect(readFileSync(fileOf("pids", podPath, "pids.max"), "utf8")).toBe("7\n");
  });

  test("pods found are those of any hierarchy", async () => {
    await cgroups.create(podPath, {});
    mkdirSync(join(mounts.v1.get("memory") ?? "", root, "burstable", "podleft"));
    expect(cgroups.listChildren(`${root}/burstable`).toSorted()).toEqual(["pod1234", "podleft"]);
    expect(cgroups.listChildren(`${root}/nothing`)).toEqual([]);
  });

  test("removal kills what runs below and leaves nothing in any hierarchy", async () => {
    const containerPath = `${podPath}/container`;
    await cgroups.create(containerPath, {});
    const { child, pid } = runInside(containerPath);
    expect(cgroups.listPids(podPath)).toEqual([pid]);
    const exited = once(child, "exit");
    await cgroups.remove(podPath, signal);
    expect(await exited).toEqual([null, "SIGKILL"]);
    for (const mountPoint of [...mounts.v1.values(), mounts.v2 ?? ""]) {
      expect(existsSync(join(mountPoint, podPath))).toBe(false);
    }
    expect(cgroups.exists(`${root}/burstable`)).toBe(true);
  });

  test("removing what is not there is fine", async () => {
    await expect(cgroups.remove(`${root}/nothing`, signal)).resolves.toBeUndefined();
  });
});

test.each(["/other", `${root}x/pod`, `${root}/../other`, "/", "", `${root}/a//b`])(
  "a path outside the root is refused: %s",
  async (path) => {
    const cgroups = new CgroupsV1({ root, mounts, hugePageSizes: [] });
    await expect(cgroups.create(path, {})).rejects.toThrow("not Berth's to change");
    await expect(cgroups.update(path, {})).rejects.toThrow("not Berth's to change");
    await expect(cgroups.remove(path, signal)).rejects.toThrow("not Berth's to change");
  },
);

test.each(["/", "", "kubepods", "/kubepods/", "/a/../b"])("%j is not a root for pods", (bad) => {
  expect(() => new CgroupsV1({ root: bad, mounts, hugePageSizes: [] })).toThrow("cgroup root");
});
