import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { ExecutorWorld } from "../../../test/sim/executor-world.ts";
import { PodTable } from "../pods/pod-table.ts";
import { Restarts } from "./restarts.ts";

const pod = testPod({ containers: [{ name: "web" }] });

/** Ends the container and tries every second; answers after how many it started again. */
async function secondsToRestart(world: ExecutorWorld): Promise<number> {
  world.runtime.findContainer("web")?.end(1);
  for (let second = 0; second <= 600; second++) {
    const [report] = await world.sync(pod);
    if (report?.failure === undefined) return second;
    expect(report.failure).toMatchObject({
      code: "CrashLoopBackOff",
      retryAtMs: expect.any(Number),
    });
    await world.clock.advance(1000);
  }
  throw new Error("it never started again");
}

test("a container that keeps crashing waits 0, 10, 20, 40, 80, 160 and then 300 seconds", async () => {
  const world = new ExecutorWorld();
  await world.sync(pod);
  const waits: number[] = [];
  for (let crash = 0; crash < 8; crash++) waits.push(await secondsToRestart(world));
  expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
  expect(world.events.findLast(({ type }) => type === "Warning")).toMatchObject({
    reason: "BackOff",
    message: "Back-off restarting failed container web in pod web_default(uid-1)",
  });
});

test("a container that ran well for more than ten minutes starts over", async () => {
  const world = new ExecutorWorld();
  await world.sync(pod);
  for (let crash = 0; crash < 4; crash++) await secondsToRestart(world);
  await world.clock.advance(500_000);
  expect(await secondsToRestart(world)).toBe(80);
  await world.clock.advance(600_001);
  expect(await secondsToRestart(world)).toBe(0);
  expect(await secondsToRestart(world)).toBe(10);
});

test("an agent that starts again holds a crashing container back as long as the one before", async () => {
  const world = new ExecutorWorld();
  await world.sync(pod);
  for (let crash = 0; crash < 3; crash++) await secondsToRestart(world);
  world.runtime.findContainer("web")?.end(1);
  await world.clock.advance(1000);
  const successor = new Restarts({ table: new PodTable(), clock: world.clock });
  const observed = await world.read(pod);
  const delaysOf = (restarts: Restarts): number[] =>
    [...restarts.historyOf(pod, observed).values()].map(({ delayMs }) => delayMs);
  expect(delaysOf(world.deps.restarts)).toEqual([40_000]);
  expect(delaysOf(successor)).toEqual([40_000]);
});
