import { expect, test } from "vitest";
import { testPodChanges } from "../../../test/kit/pod-parts.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { SimJournal } from "../../drivers/sim/sim-journal.ts";
import { VirtualClock } from "../../drivers/sim/virtual-clock.ts";
import { StatusCheckpoints } from "../status/status-checkpoints.ts";
import { PodMemory } from "./pod-memory.ts";
import { PodTable } from "./pod-table.ts";

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
  const ports = { clock: new VirtualClock(), log: silentLog, files, journal };
  const table = new PodTable();
  const changes = testPodChanges(table);
  const checkpoints = new StatusCheckpoints({
    table,
    files,
    folder: "/root/statuses",
    log: silentLog,
    changes,
  });
  const settings = { rootFolder: "/root", nodeName: "node" };
  const memory = new PodMemory(ports, settings, checkpoints, () => undefined);
  await memory.load();
  checkpoints.save("a", { phase: "Succeeded" });
  await checkpoints.flush();
  for (let round = 0; round < 100; round += 1) memory.forget("a");
  await expect.poll(() => journal.removed).toEqual(["a"]);
  journal.finish();
  await expect.poll(() => files.readText("/root/statuses/a.json")).toBeUndefined();
  // Should it come back and go again, it is forgotten again.
  checkpoints.save("a", { phase: "Running" });
  await checkpoints.flush();
  memory.forget("a");
  await expect.poll(() => journal.removed).toEqual(["a", "a"]);
});
