import { systemClock } from "../drivers/linux/system-clock.ts";
import type { AgentView } from "../ports/agent-view.ts";
import { runLocalApi } from "../server/local-api.ts";
import { type AgentOptions, createAgent } from "./create-agent.ts";

/** Runs an agent with its local API until `signal` aborts. `onReady`: the API answers. */
export async function runAgent(
  options: AgentOptions,
  socketPath: string,
  onReady: (view: AgentView) => void,
  signal: AbortSignal,
): Promise<void> {
  const agent = await createAgent(options, signal);
  await Promise.all([
    agent.run(),
    runLocalApi(agent.view, { socketPath, clock: systemClock }, () => onReady(agent.view), signal),
  ]);
}
