import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ProcMemoryGauge } from "./memory-gauge.ts";
import { openMemoryGauge } from "./open-cgroups.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-gauge-"));
afterAll(() => rmSync(folder, { recursive: true }));

const meminfo = join(folder, "meminfo");
const write = (anonymous: number): void =>
  writeFileSync(
    meminfo,
    `MemTotal: 9000 kB\nBuffers: 10 kB\nCached: 100 kB\nInactive(file): 40 kB\nAnonPages: ${anonymous} kB\n`,
  );

test("the machine's memory is what programs hold and what of the cache does not go first, as it is now", () => {
  write(1000);
  const gauge = new ProcMemoryGauge({ v1: new Map(), v2: folder }, meminfo);
  expect(gauge.usedBytes("/")).toBe(1070 * 1024);
  write(2000);
  expect(gauge.usedBytes("/")).toBe(2070 * 1024);
});

test("a cgroup's memory is its counter, of either version; one that is gone has none", () => {
  mkdirSync(join(folder, "pods"));
  writeFileSync(join(folder, "pods", "memory.current"), "4096\n");
  writeFileSync(join(folder, "pods", "memory.usage_in_bytes"), "8192\n");
  const v2 = new ProcMemoryGauge({ v1: new Map(), v2: folder }, meminfo);
  expect(v2.usedBytes("/pods")).toBe(4096);
  expect(v2.usedBytes("/gone")).toBeUndefined();
  const v1 = new ProcMemoryGauge({ v1: new Map([["memory", folder]]), v2: undefined }, meminfo);
  expect(v1.usedBytes("/pods")).toBe(8192);
});

test("this machine's own gauge returns a value", () => {
  expect(openMemoryGauge().usedBytes("/")).toBeGreaterThan(2 ** 20);
});
