import type { NodeEvent } from "../../core/node/node-event.ts";
import { OomReport, systemOomMessage } from "../../core/oom/oom-kill.ts";
import { errorText } from "../../lib/error-text.ts";
import type { KernelLog } from "../../ports/kernel-log.ts";
import type { Log } from "../../ports/log.ts";

export interface OomWatcherDeps {
  readonly kernelLog: KernelLog;
  readonly onNodeEvent: (event: NodeEvent) => void;
  readonly log: Log;
}

/** Tells when the kernel kills processes because memory ran out, until `signal` aborts. */
export async function runOomWatcher(deps: OomWatcherDeps, signal: AbortSignal): Promise<void> {
  const { kernelLog, onNodeEvent, log } = deps;
  const report = new OomReport();
  try {
    await kernelLog.run((line) => {
      const kill = report.take(line);
      if (kill === undefined) return;
      log.warn("the kernel killed a process to get memory back", { ...kill });
      const message = systemOomMessage(kill);
      if (message !== undefined) onNodeEvent({ type: "Warning", reason: "SystemOOM", message });
    }, signal);
  } catch (error) {
    log.warn("kills for want of memory are not told of: the kernel's log cannot be read", {
      problem: errorText(error),
    });
  }
}
