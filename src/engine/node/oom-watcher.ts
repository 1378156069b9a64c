import { OomReport, systemOomMessage } from "../../core/oom/oom-kill.ts";
import { errorText } from "../../lib/error-text.ts";
import type { KernelLog } from "../../ports/kernel-log.ts";
import type { Log } from "../../ports/log.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";

export interface OomWatcherDeps {
  readonly kernelLog: KernelLog;
  readonly nodeEvents: NodeEvents;
  readonly log: Log;
}

/** Reports when the kernel kills processes because memory ran out, until `signal` aborts. */
export async function runOomWatcher(deps: OomWatcherDeps, signal: AbortSignal): Promise<void> {
  const { kernelLog, nodeEvents, log } = deps;
  const report = new OomReport();
  try {
    await kernelLog.run((line) => {
      const kill = report.take(line);
      if (kill === undefined) return;
      log.warn("the kernel killed a process to get memory back", { ...kill });
      const message = systemOomMessage(kill);
      if (message !== undefined)
        nodeEvents.recordNode({ type: "Warning", reason: "SystemOOM", message });
    }, signal);
  } catch (error) {
    log.warn("OOM kills will not be reported: the kernel's log cannot be read", {
      problem: errorText(error),
    });
  }
}
