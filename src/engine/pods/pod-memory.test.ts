import { expect, test } from "vitest";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { SimJournal } from "../../drivers/sim/sim-journal.ts";
import { VirtualClock } from "../../drivers/sim/virtual-clock.ts";
import type { Log } from "../../ports/log.ts";
import { PodMemory } from "./pod-memory.ts";

const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A disk that takes its time: a removal ends when the test says so. */
class SlowJournal extends SimJournal {
  readonly removed: string[] = [];
  readonly #waiting: (() => void)[] = [];

  override remove(key: string): Promise<void> {
    this.removed.push(key);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  finish(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

test("a pod is forgotten once, however many rounds of housekeeping ask for it meanwhile", async () => {
  const journal = new SlowJournal();
  const files = new MemoryFiles();
  const ports = { clock: new VirtualClock(), log, files, journal };
  const memory = new PodMemory(ports, { rootFolder: "/root", nodeName: "node" }, () => undefined);
  await memory.load();
  memory.checkpoints.save("a", { phase: "Succeeded" }, () => undefined);
  await memory.checkpoints.flush();
  for (let round = 0; round < 100; round += 1) memory.forget("a");
  await expect.poll(() => journal.removed).toEqual(["a"]);
  journal.finish();
  await expect.poll(() => files.readText("/root/statuses/a.json")).toBeUndefined();
  // Should it come back and go again, it is forgotten again.
  memory.checkpoints.save("a", { phase: "Running" }, () => undefined);
  await memory.checkpoints.flush();
  memory.forget("a");
  await expect.poll(() => journal.removed).toEqual(["a", "a"]);
});
