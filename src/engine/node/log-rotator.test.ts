import fc from "fast-check";
import { expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { runtimeContainerId } from "../../model/ids.ts";
import { findRotatedLogs } from "../../model/log/rotated-logs.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import { rotateIfFull, runLogRotator } from "./log-rotator.ts";

interface Inode {
  lines: readonly number[];
}

class Killed extends Error {}

/** The files of one log, a container that writes to it, and an agent that can be killed at any step. */
class LogWorld {
  readonly names = new Map<string, Inode>();
  #open: Inode = { lines: [] };
  #written = 0;
  stepsLeft = Number.POSITIVE_INFINITY;
  reopens = 0;
  refusals = 0;
  lostAnswers = 0;

  constructor() {
    this.names.set("0.log", this.#open);
  }

  write(): void {
    this.#open.lines = [...this.#open.lines, this.#written++];
  }

  /** Every line that can be found, oldest first. */
  lines(): readonly number[] {
    const rotated = findRotatedLogs([...this.names.keys()], "0.log").inUse;
    return [...rotated, "0.log"].flatMap((name) => this.names.get(name)?.lines ?? []);
  }

  get all(): readonly number[] {
    return Array.from({ length: this.#written }, (_, line) => line);
  }

  /** The container writes before and after each step, and the agent may end before or after it. */
  async #step<T>(work: () => T): Promise<T> {
    this.write();
    if (this.stepsLeft-- <= 0) throw new Killed();
    const result = work();
    this.write();
    if (this.stepsLeft-- <= 0) throw new Killed();
    return result;
  }

  readonly files: LogFiles = {
    list: () => this.#step(() => [...this.names.keys()]),
    sizeBytes: (path) => this.#step(() => this.names.get(nameOf(path))?.lines.length),
    rename: (from, to) =>
      this.#step(() => {
        const inode = this.names.get(nameOf(from));
        if (inode === undefined) throw new Error(`there is no ${from}`);
        this.names.delete(nameOf(from));
        this.names.set(nameOf(to), inode);
      }),
    remove: (path) => this.#step(() => void this.names.delete(nameOf(path))),
    compress: (path, beside) =>
      this.#step(() => {
        this.names.set(nameOf(beside), { lines: this.names.get(nameOf(path))?.lines ?? [] });
      }),
  };

  readonly runtime = {
    containerStatus: () => Promise.resolve({ status: { logPath: "/logs/0.log" } }),
    reopenContainerLog: () =>
      this.#step(() => {
        if (this.refusals-- > 0) throw new Error("the runtime is busy");
        this.reopens += 1;
        this.#open = this.names.get("0.log") ?? { lines: [] };
        this.names.set("0.log", this.#open);
        if (this.lostAnswers-- > 0) throw new Error("no answer in time");
      }),
  };
}

const settings = { maxSizeBytes: 10, maxFiles: 1000, intervalMs: 10_000, workers: 1 };
const container = { containerId: runtimeContainerId("c"), logPath: "/logs/0.log" };
const { signal } = new AbortController();
const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

test("an agent that is killed at any step of any rotation has lost and doubled no line", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ steps: fc.nat(30), refusals: fc.nat(1), lostAnswers: fc.nat(1) }), {
        maxLength: 12,
      }),
      async (lives) => {
        const world = new LogWorld();
        let second = 0;
        const rotate = (): Promise<void> => {
          second += 1;
          const { runtime, files } = world;
          const deps = { runtime, files, clock: new VirtualClock(second * 1000), settings };
          return rotateIfFull(deps, container, signal).catch(() => undefined);
        };
        for (const { steps, refusals, lostAnswers } of lives) {
          world.stepsLeft = steps;
          world.refusals = refusals;
          world.lostAnswers = lostAnswers;
          for (let line = 0; line < 15; line++) world.write();
          await rotate();
        }
        world.stepsLeft = Number.POSITIVE_INFINITY;
        world.refusals = 0;
        world.lostAnswers = 0;
        for (let round = 0; round < 3; round++) {
          for (let line = 0; line < 15; line++) world.write();
          await rotate();
        }
        expect(world.lines()).toEqual(world.all);
        expect([...world.names.keys()].filter((name) => name.endsWith(".tmp"))).toEqual([]);
      },
    ),
  );
});

test("logs of others are left alone, and none is rotated twice in one second", async () => {
  const world = new LogWorld();
  for (let line = 0; line < 15; line++) world.write();
  const clock = new VirtualClock();
  const stop = new AbortController();
  const { runtime, files } = world;
  const observed = { runningContainers: () => [runtimeContainerId("c")].values() };
  const faster = { ...settings, intervalMs: 400 };
  const deps = { runtime, observed, files, clock, log: silentLog, settings: faster };
  const elsewhere = runLogRotator({ ...deps, podLogsRoot: "/other" }, stop.signal);
  await clock.advance(2000);
  expect(world.reopens).toBe(0);
  const ours = runLogRotator({ ...deps, podLogsRoot: "/logs" }, stop.signal);
  for (let round = 0; round < 10; round++) {
    for (let line = 0; line < 15; line++) world.write();
    await clock.advance(400);
  }
  stop.abort();
  await Promise.all([elsewhere, ours]);
  expect(world.reopens).toBeGreaterThan(2);
  expect(world.reopens).toBeLessThanOrEqual(5);
  expect(world.lines()).toEqual(world.all);
});
