import { expect, test } from "vitest";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { buildPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { killedStatus } from "../../core/status/killed-status.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { ShutdownService } from "../../ports/shutdown.ts";
import { ShutdownManager } from "./shutdown-manager.ts";

function podOf(name: string, priority: number, terminationGracePeriodSeconds = 30): Pod {
  return buildPod({
    metadata: { name, namespace: "ns", uid: name },
    spec: { containers: [], priority, terminationGracePeriodSeconds },
  });
}

/** A machine that waits for a while before it goes down. */
class World {
  readonly clock = new VirtualClock();
  readonly files = new MemoryFiles();
  readonly end = new AbortController();
  readonly done: string[] = [];
  readonly statuses = new Map<string, PodStatus>();
  delayMs = 5000;
  takesDelay = true;
  /** How long each pod takes to end. */
  readonly endsAfterMs = new Map<string, number>();
  announce: (isShuttingDown: boolean) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;
  locks = 0;

  readonly service: ShutdownService = {
    maxDelayMs: () => Promise.resolve(this.delayMs),
    extendMaxDelay: (delayMs) => {
      if (this.takesDelay) this.delayMs = delayMs;
      return Promise.resolve();
    },
    lock: () => {
      this.locks += 1;
      return Promise.resolve({ release: () => this.#release() });
    },
    watch: (onChange, signal) =>
      new Promise((resolve, reject) => {
        this.announce = onChange;
        this.fail = reject;
        signal.addEventListener("abort", () => resolve());
      }),
  };
  readonly manager = new ShutdownManager({
    shutdownService: this.service,
    periods: [
      { priority: 0, graceSeconds: 20 },
      { priority: 1000, graceSeconds: 10 },
    ],
    active: {
      list: () => [podOf("critical", 2000, 60), podOf("web", 0, 5), podOf("slow", 0, 300)],
    },
    workers: {
      killPod: async (pod, { graceSeconds, reason }, signal) => {
        const { name } = pod.metadata;
        this.#note(`end ${name} within ${graceSeconds}`);
        await this.clock.sleep(this.endsAfterMs.get(name) ?? 1000, signal);
        if (reason !== undefined) {
          this.statuses.set(name, killedStatus({ phase: "Running" }, reason));
        }
        this.#note(`ended ${name}`);
      },
    },
    settling: {
      volumesUnmounted: (pods) => {
        this.#note(`unmounted ${pods.map(({ metadata }) => metadata.name).join(" ")}`);
        return Promise.resolve();
      },
      statusesReported: () => {
        this.#note("reported");
        return Promise.resolve();
      },
    },
    wakeups: { updateNode: () => this.#note("changed") },
    nodeEvents: { recordNode: ({ reason, message }) => this.#note(`${reason}: ${message}`) },
    files: this.files,
    rootFolder: "/root",
    ports: { metrics: noMetrics, clock: this.clock, log: silentLog },
  });
  readonly running: Promise<void>;

  constructor() {
    this.running = this.manager.run(this.end.signal);
  }

  #release(): void {
    this.locks -= 1;
    this.#note("released");
  }

  #note(what: string): void {
    this.done.push(`${this.clock.monotonicMs() / 1000} ${what}`);
  }
}

test("pods end one group after the other, and the lock goes after the last status", async () => {
  const world = new World();
  await world.clock.advance(0);
  expect(world.delayMs).toBe(30_000);
  expect(world.locks).toBe(1);
  expect(world.manager.admit()).toEqual({ admit: true });
  world.announce(true);
  await world.clock.advance(60_000);
  expect(world.done).toEqual([
    "0 Shutdown: Shutdown manager detected shutdown event",
    "0 changed",
    "0 end web within 5",
    "0 end slow within 20",
    "1 ended web",
    "1 ended slow",
    "1 unmounted web slow",
    "1 end critical within 10",
    "2 ended critical",
    "2 unmounted critical",
    "2 reported",
    "2 released",
  ]);
  expect(world.manager.problem).toBe("node is shutting down");
  expect(world.manager.admit()).toEqual({
    admit: false,
    reason: "NodeShutdown",
    message: "Pod was rejected as the node is shutting down.",
  });
  expect(world.statuses.get("web")).toMatchObject({ phase: "Failed", reason: "Terminated" });
  expect(await world.files.readText("/root/graceful_node_shutdown_state")).toBe(
    '{"startTime":"2026-01-01T00:00:00.000000000Z","endTime":"2026-01-01T00:00:02.000000000Z"}',
  );
  world.end.abort();
  await world.running;
});

test("a group that takes too long does not take the next one's time", async () => {
  const world = new World();
  world.endsAfterMs.set("slow", 1_000_000);
  await world.clock.advance(0);
  world.announce(true);
  await world.clock.advance(60_000);
  expect(world.done).toContain("20 end critical within 10");
  expect(world.done.at(-1)).toBe("21 released");
  world.end.abort();
  await world.running;
});

test("a shutdown that is called off takes the lock again", async () => {
  const world = new World();
  await world.clock.advance(0);
  world.announce(true);
  await world.clock.advance(10_000);
  expect(world.locks).toBe(0);
  world.announce(false);
  await world.clock.advance(0);
  expect(world.locks).toBe(1);
  expect(world.manager.problem).toBeUndefined();
  expect(world.done).toContain("10 Shutdown: Shutdown manager detected shutdown cancellation");
  world.end.abort();
  await world.running;
  expect(world.locks).toBe(0);
});

test("a connection that breaks is made again", async () => {
  const world = new World();
  await world.clock.advance(0);
  const before = world.announce;
  world.fail(new Error("the message bus closed the connection"));
  await world.clock.advance(1000);
  expect(world.announce).not.toBe(before);
  expect(world.locks).toBe(1);
  world.end.abort();
  await world.running;
});

test("a machine that does not wait long enough is asked again, and no lock is taken", async () => {
  const world = new World();
  world.takesDelay = false;
  await world.clock.advance(10_000);
  expect(world.locks).toBe(0);
  world.takesDelay = true;
  await world.clock.advance(10_000);
  expect(world.locks).toBe(1);
  world.end.abort();
  await world.running;
});
