import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diskMounts } from "./disks.ts";
import { linuxHostUsage, parseInterfaces } from "./host-usage.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-host-usage-"));
const usage = linuxHostUsage(() => 1, 0);

beforeAll(() => {
  mkdirSync(join(folder, "deep", "deeper"), { recursive: true });
  writeFileSync(join(folder, "deep", "one"), Buffer.alloc(100_000, 1));
  writeFileSync(join(folder, "two"), "x");
});

afterAll(() => rmSync(folder, { recursive: true }));

test("the files of a folder are counted without what lies deeper", async () => {
  expect((await usage.files(folder))?.inodesUsed).toBe(1);
  expect(await usage.files(join(folder, "none"))).toBeUndefined();
});

test("a file is counted by its blocks", async () => {
  const use = await usage.file(join(folder, "deep", "one"));
  expect(use?.usedBytes).toBeGreaterThanOrEqual(100_000);
  expect(await usage.file(join(folder, "none"))).toBeUndefined();
});

test("a file system reports what is left", async () => {
  const fs = await usage.fileSystem(folder);
  expect(fs?.capacityBytes).toBeGreaterThan(fs?.availableBytes ?? Infinity);
  expect(await usage.fileSystem(join(folder, "none"))).toBeUndefined();
});

test("loopback and the ends of pods' interfaces are left out", () => {
  const text = [
    "Inter-|   Receive                                                |  Transmit",
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed",
    "    lo:    1       1    0    0    0     0          0         0     1       1    0    0    0     0       0          0",
    "  eth0: 1000      10    1    2    0     0          0         0   500       5    3    4    0     0       0          0",
    "veth12: 1000      10    1    2    0     0          0         0   500       5    3    4    0     0       0          0",
  ].join("\n");
  expect(parseInterfaces(text)).toEqual([
    {
      name: "eth0",
      rxBytes: 1000,
      rxPackets: 10,
      rxErrors: 1,
      rxDropped: 2,
      txBytes: 500,
      txPackets: 5,
      txErrors: 3,
      txDropped: 4,
    },
  ]);
});

test("the process table has a limit and fewer tasks than that", async () => {
  const { max = 0, running = 0 } = await usage.tasks();
  expect(running).toBeGreaterThan(0);
  expect(max).toBeGreaterThan(running);
});

test("a disk is found once, file systems in memory by where they are mounted, and none of FUSE", () => {
  const mounts = [
    "/dev/sda1 / ext4 rw 0 0",
    "/dev/sda1 /data ext4 rw 0 0",
    "tmpfs /dev/shm tmpfs rw 0 0",
    "tmpfs /var/lib/kubelet/pods/1/volumes/x tmpfs rw 0 0",
    "proc /proc proc rw 0 0",
    "/dev/evil /var/lib/kubelet/pods/1/volumes/y fuse rw 0 0",
  ].join("\n");
  expect([...diskMounts(mounts)]).toEqual([
    ["/dev/sda1", "/"],
    ["/dev/shm", "/dev/shm"],
  ]);
});

test("a process holds descriptors, and one that is gone none", async () => {
  const own = await usage.processes([process.pid, 2 ** 30]);
  expect(own.descriptors).toBeGreaterThan(2);
  expect(own.maxOpenFiles).toBeGreaterThan(0);
});
