import { Semaphore } from "../../lib/semaphore.ts";
import { startTimer } from "../../lib/timers.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

type ExecSync = ContainerRuntime["execSync"];

/** After this long a command has certainly started, and waits for something itself. */
const startMs = 1000;

/**
 * Starts at most `atOnce` commands in containers at once. To start one is what costs a node its time: all together they
 * would take each other's, and a probe would fail for no fault of its container. The time that a command is given
 * begins with its turn, and one that hangs keeps no other from its own.
 */
export function inTurns(execSync: ExecSync, atOnce: number): ExecSync {
  const turns = new Semaphore(atOnce);
  return async (containerId, command, timeoutSeconds, signal) => {
    const leave = await turns.enter(signal);
    const started = startTimer(startMs, leave);
    try {
      return await execSync(containerId, command, timeoutSeconds, signal);
    } finally {
      started.stop();
      leave();
    }
  };
}
