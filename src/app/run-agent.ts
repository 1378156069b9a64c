import { systemClock } from "../drivers/linux/system-clock.ts";
import type { ServiceManager } from "../drivers/systemd/service-notifier.ts";
import type { Agent } from "../engine/agent.ts";
import type { AgentView } from "../ports/agent-view.ts";
import { type LocalApiOptions, runLocalApi } from "../server/local-api.ts";
import { type AgentOptions, createAgent } from "./create-agent.ts";
import { notifyOfAgent } from "./notify-service-manager.ts";
import type { ServedUi } from "./serve-ui.ts";

export interface AgentSurroundings {
  /** Of the local API. */
  readonly socketPath: string;
  /** The local API answers. */
  readonly onReady: (view: AgentView) => void;
  /** Undefined = no page. */
  readonly ui?: ServedUi | undefined;
  readonly serviceManager?: ServiceManager | undefined;
  /** What runs beside the agent, as long as it does. */
  readonly beside?: ((agent: Agent, signal: AbortSignal) => Promise<void>) | undefined;
}

/** Runs an agent with its local API until `signal` aborts or one of them fails. */
export function runAgent(
  options: AgentOptions,
  surroundings: AgentSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const { serviceManager, ...rest } = surroundings;
  const create = (lifetime: AbortSignal): Promise<Agent> => createAgent(options, lifetime);
  const beside = async (agent: Agent, until: AbortSignal): Promise<void> => {
    const deps = { agent, clock: systemClock, log: options.telemetry.log };
    await Promise.all([
      rest.beside?.(agent, until),
      serviceManager === undefined ? undefined : notifyOfAgent(serviceManager, deps, until),
    ]);
  };
  return serveAgent(create, { ...rest, beside, clock: systemClock }, signal);
}

/** The same for an agent that is made otherwise. */
export async function serveAgent(
  create: (signal: AbortSignal) => Promise<Agent> | Agent,
  { onReady, beside, ...api }: AgentSurroundings & Omit<LocalApiOptions, "ui">,
  signal: AbortSignal,
): Promise<void> {
  // An agent without its API, or an API without its agent, would look alive and not be.
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const agent = await create(either);
  const together = [
    agent.run(),
    runLocalApi(agent.view, api, () => onReady(agent.view), either),
    beside?.(agent, either) ?? Promise.resolve(),
    api.ui?.run(either) ?? Promise.resolve(),
  ];
  for (const task of together) task.catch(() => failed.abort());
  const outcomes = await Promise.allSettled(together);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
