import { notifyServiceManager, type ServiceManager } from "../drivers/systemd/service-notifier.ts";
import type { Agent } from "../engine/agent.ts";
import { errorText } from "../lib/error-text.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

const readyLookMs = 200;
/** systemd wants a sign of life twice as often as it waits. */
const beatsPerPeriod = 3;

export interface NotifyDeps {
  readonly agent: Pick<Agent, "isServing" | "lastTurnMs">;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Notifies the service manager that the agent serves, that its sync loop gets on, and that it ends. Resolves
 * after `signal` has aborted.
 */
export async function notifyOfAgent(
  manager: ServiceManager,
  deps: NotifyDeps,
  signal: AbortSignal,
): Promise<void> {
  const send = async (message: string): Promise<void> => {
    try {
      await notifyServiceManager(manager, message);
    } catch (error) {
      deps.log.warn("cannot notify the service manager", { message, error: errorText(error) });
    }
  };
  try {
    while (!deps.agent.isServing) await deps.clock.sleep(readyLookMs, signal);
    await send("READY=1");
    await beat(manager, deps, send, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await send("STOPPING=1");
}

/** A loop that stands still stops this, and so does a thread that does: the service manager then ends the agent. */
async function beat(
  { watchdogMs }: ServiceManager,
  { agent, clock }: NotifyDeps,
  send: (message: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (watchdogMs === undefined) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return;
  }
  for (;;) {
    if (clock.monotonicMs() - agent.lastTurnMs < watchdogMs) await send("WATCHDOG=1");
    await clock.sleep(watchdogMs / beatsPerPeriod, signal);
  }
}
