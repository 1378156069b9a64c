import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseCgroupMounts } from "./cgroup-mounts.ts";
import { CgroupStatsV1 } from "./cgroup-stats-v1.ts";
import { CgroupStatsV2 } from "./cgroup-stats-v2.ts";
import { DeviceNames } from "./device-names.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-cgroup-stats-"));
const mounts = parseCgroupMounts(readFileSync("/proc/self/mountinfo", "utf8"));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

beforeAll(() => {
  write("proc/meminfo", "MemTotal:       1000 kB\nSwapTotal:  100 kB\nSwapFree:  60 kB\n");
  write("v2/cgroup.events", "");
  write("v2/memory.stat", "anon 1000\nfile 5000\ninactive_file 2000\nactive_file 3000\n");
  write("v2/cpu.stat", "usage_usec 7\nuser_usec 4\nsystem_usec 3\n");
  const pod = "v2/kubepods.slice/pod";
  write(`${pod}/cgroup.events`, "");
  write(
    `${pod}/cpu.stat`,
    "usage_usec 500\nuser_usec 300\nsystem_usec 200\nnr_periods 9\nnr_throttled 2\nthrottled_usec 11\n",
  );
  write(`${pod}/cpu.weight`, "39\n");
  write(`${pod}/cpu.max`, "50000 100000\n");
  write(
    `${pod}/cpu.pressure`,
    "some avg10=1.50 avg60=0.25 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n",
  );
  write(`${pod}/memory.current`, "9000\n");
  write(`${pod}/memory.max`, "max\n");
  write(`${pod}/memory.swap.max`, "4096\n");
  write(`${pod}/memory.swap.current`, "96\n");
  write(
    `${pod}/memory.stat`,
    "anon 4000\nfile 5000\ninactive_file 1000\npgfault 12\npgmajfault 1\n",
  );
  write(`${pod}/memory.events`, "low 0\nmax 3\noom 1\noom_kill 1\n");
  write(`${pod}/pids.current`, "5\n");
  write(`${pod}/pids.max`, "100\n");
  write(`${pod}/cgroup.procs`, "17\n18\n");
  write(`${pod}/io.stat`, "999:1 rbytes=4096 wbytes=512 rios=2 wios=1 dbytes=0 dios=0\n");
});

afterAll(() => rmSync(folder, { recursive: true }));

test("a cgroup of the unified hierarchy is read from its files", async () => {
  const stats = new CgroupStatsV2(join(folder, "v2"), join(folder, "proc"));
  const usage = await stats.read("/kubepods.slice/pod", true);
  expect(usage).toMatchObject({
    cpu: {
      usageCoreNanoSeconds: 500_000,
      psi: { some: { avg10: 1.5, avg60: 0.25, total: 1234 }, full: { total: 4 } },
    },
    memory: {
      usageBytes: 9000,
      workingSetBytes: 8000,
      rssBytes: 4000,
      pageFaults: 12,
      swapBytes: 96,
      swapLimitBytes: 4096,
    },
    processes: 2,
    detail: {
      userNanoSeconds: 300_000,
      periods: 9,
      throttledPeriods: 2,
      throttledNanoSeconds: 11_000,
      shares: 998,
      quotaUs: 50_000,
      periodUs: 100_000,
      failCount: 3,
      oomKills: 1,
      threads: 5,
      maxThreads: 100,
      io: [
        {
          device: "999:1",
          number: "999:1",
          bytes: { Read: 4096, Write: 512 },
          reads: 2,
          writes: 1,
        },
      ],
    },
  });
  expect(usage?.memory?.limitBytes).toBeUndefined();
});

test("the root of the unified hierarchy has the machine's memory as its limit", async () => {
  const stats = new CgroupStatsV2(join(folder, "v2"), join(folder, "proc"));
  expect((await stats.read("/", false))?.memory).toMatchObject({
    usageBytes: 6000,
    workingSetBytes: 4000,
    limitBytes: 1_024_000,
    swapBytes: 40_960,
    swapLimitBytes: 102_400,
  });
});

test("a cgroup that is not there has no usage", async () => {
  const stats = new CgroupStatsV2(join(folder, "v2"), join(folder, "proc"));
  expect(await stats.read("/nothing", true)).toBeUndefined();
  expect(await new CgroupStatsV1(mounts).read("/berth-not-there", true)).toBeUndefined();
});

test.runIf(mounts.v1.has("memory"))("this machine's own root reports its usage", async () => {
  const usage = await new CgroupStatsV1(mounts).read("/", true);
  expect(usage?.detail?.systemNanoSeconds).toBeGreaterThan(0);
  expect(usage?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
  expect(usage?.memory?.workingSetBytes).toBeLessThanOrEqual(usage?.memory?.usageBytes ?? 0);
  expect(usage?.memory?.limitBytes).toBeGreaterThan(2 ** 28);
});

test("a device is called by its name, or by its number where it has none", () => {
  mkdirSync(join(folder, "block"));
  symlinkSync("../../devices/virtual/block/vda", join(folder, "block/254:0"));
  const names = new DeviceNames(join(folder, "block"));
  expect(names.nameOf("254:0")).toBe("/dev/vda");
  expect(names.nameOf("8:16")).toBe("8:16");
});
