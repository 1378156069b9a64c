// SIGUSR1 makes Node open its debugger on a port of the loopback address: any process that reaches it, such as a pod on the host
// network, runs code as the agent's user.

import { SetupError } from "../lib/setup-error.ts";
import { sleep, startTimer } from "../lib/timers.ts";
import type { Log } from "../ports/log.ts";

const settledMs = 1_000;
const retryMs = 50;

/** A listener takes the signal away from Node. */
export function ignoreDebuggerSignal(): void {
  process.on("SIGUSR1", () => undefined);
}

/**
 * Refuses to run an agent that was started with a debugger, and closes one that a signal opened before it was ignored. To be
 * called by commands that run an agent.
 */
export async function forbidDebugger(log: Log): Promise<void> {
  const flag = /^--inspect(?:-brk|-wait)?(?:=|$)/;
  const given = [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/)];
  const found = given.find((option) => flag.test(option));
  if (found !== undefined) {
    throw new SetupError(
      `Node was started with ${found}: who reaches its debugger runs code as the agent`,
      "start it without (also in NODE_OPTIONS)",
    );
  }
  process.on("SIGUSR1", () => {
    log.warn("ignored SIGUSR1, which would open a debugger for everybody on this machine");
  });
  // Node would end at this one; kubelets ignore both.
  process.on("SIGUSR2", () => log.warn("ignored SIGUSR2"));
  await closeDebugger(log);
  // What a signal of the first moments asked for may happen a little later.
  startTimer(settledMs, () => void closeDebugger(log), { keepsAlive: false });
}

async function closeDebugger(log: Log): Promise<void> {
  if (!process.features.inspector) return;
  const inspector = await import("node:inspector");
  for (let url = inspector.url(); url !== undefined; url = inspector.url()) {
    inspector.close();
    log.warn("closed Node's debugger, which SIGUSR1 had opened while the agent started", { url });
    await sleep(retryMs);
  }
}
