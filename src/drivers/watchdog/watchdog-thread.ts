// The thread that watches the agent's: it sleeps, reads what they share, and ends the process when the agent stands still.
import { renameSync, writeFileSync } from "node:fs";
import { workerData } from "node:worker_threads";
import type { FreezeReport } from "../../ports/watchdog.ts";
import { readMainStack } from "./main-stack.ts";
import { SharedProgress } from "./shared-progress.ts";
import { Standstill } from "./standstill.ts";
import type { WatchdogData } from "./watchdog.ts";

async function watch({ buffer, reportPath, lookMs, limitMs }: WatchdogData): Promise<void> {
  const progress = new SharedProgress(buffer);
  const standstill = new Standstill(limitMs, lookMs);
  for (;;) {
    if (progress.waitForEnd(lookMs)) return;
    const found = standstill.look(progress);
    if (found === undefined) continue;
    const report: FreezeReport = {
      atMs: Date.now(),
      pid: process.pid,
      ...found,
      ...progress.step,
      memoryBytes: process.memoryUsage.rss(),
      stack: [],
    };
    // At once: asking for the stack may fail in any way.
    write(reportPath, report);
    const stack = await readMainStack();
    if (stack.length > 0) write(reportPath, { ...report, stack });
    process.kill(process.pid, "SIGKILL");
  }
}

function write(path: string, report: FreezeReport): void {
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify(report)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // A full disk must not keep a frozen agent alive.
  }
}

// Without await at the top: the one executable runs it as CommonJS.
void watch(workerData as WatchdogData);
