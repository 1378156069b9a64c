import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podUid } from "../../src/model/ids.ts";
import { never, podWith, VolumeWorld } from "../integration/support/volume-world.ts";

const names = 300_000;

// Names of few files: they cost the disk less, and a walk as much.
const flood = `
  const { linkSync, mkdirSync, writeFileSync } = require("node:fs");
  const folder = process.argv[1];
  for (let file = 0; file < ${names / 30_000}; file++) {
    // The last folder lies deep, and has more names than a call may have arguments.
    const inside = folder + (file < 4 ? "/" + file : "/d".repeat(30));
    mkdirSync(inside, { recursive: true });
    const first = inside + "/" + file + "-0";
    writeFileSync(first, "x");
    for (let name = 1; name < 30_000; name++) linkSync(first, inside + "/" + file + "-" + name);
  }
`;

let world: VolumeWorld;

beforeEach(async () => {
  world = await VolumeWorld.create();
});

afterEach(() => world[Symbol.asyncDispose]());

test("a volume with 300 000 files is measured and removed at no cost to the agent", async () => {
  const manager = world.manager();
  const pod = podWith([{ name: "disk", emptyDir: {} }]);
  world.want(pod);
  await manager.mount(pod, never);
  const folder = manager.mountedVolumes(podUid("uid-1")).get("disk")?.path ?? "";
  execFileSync(process.execPath, ["-e", flood, folder]);

  const stop = new AbortController();
  const usage = world.usage();
  const before = { cpu: process.cpuUsage(), heapBytes: process.memoryUsage().heapUsed };
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  const running = usage.run(stop.signal);
  await expect.poll(() => usage.latest(podUid("uid-1"))?.ephemeral[0]?.inodesUsed).toBe(45);
  stop.abort();
  await running;
  await world.unmount(podUid("uid-1"));
  delays.disable();
  expect(existsSync(folder)).toBe(false);

  const { user, system } = process.cpuUsage(before.cpu);
  const costs = {
    cpuMs: (user + system) / 1000,
    longestPauseMs: delays.max / 1e6,
    heapBytes: process.memoryUsage().heapUsed - before.heapBytes,
  };
  console.log("measured and removed", costs);
  // It was 24 s of processor time for a look alone.
  expect(costs.cpuMs).toBeLessThan(4000);
  expect(costs.longestPauseMs).toBeLessThan(1500);
  expect(costs.heapBytes).toBeLessThan(64 * 1024 * 1024);
});
