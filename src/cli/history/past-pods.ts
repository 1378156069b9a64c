import type { HistoryPod } from "../../ports/history.ts";
import type { AgentClient } from "../agent-client.ts";
import { CliError, exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Pods of a name in a namespace that history knows, newest first; a failure when there are none. */
export async function pastPods(
  client: AgentClient,
  { namespace, name }: Named,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<readonly HistoryPod[]> {
  const { named, problems } = await namedPods(client, name, signal);
  noteProblems(problems, terminal);
  const found = named.filter((pod) => pod.namespace === namespace);
  if (found.length > 0) return found;
  const elsewhere = named[0]?.namespace;
  const hint =
    elsewhere === undefined
      ? "; berth history lists those it knows"
      : `; there was one in namespace ${elsewhere}: add -n ${elsewhere}`;
  throw new CliError(
    `history knows no pod "${name}" in namespace ${namespace}${hint}`,
    exitCodes.notFound,
  );
}

/** The same, none where there are none. */
export async function findPastPods(
  client: AgentClient,
  { namespace, name }: Named,
  signal: AbortSignal,
): Promise<readonly HistoryPod[]> {
  const { named } = await namedPods(client, name, signal);
  return named.filter((pod) => pod.namespace === namespace);
}

/** By their own name, or by that in their manifest, which a static pod's own name has in front of its node's. */
async function namedPods(
  client: AgentClient,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly named: readonly HistoryPod[]; readonly problems: readonly string[] }> {
  const { items, problems } = await client.listHistoryPods(signal);
  const { nodeName } = await client.readInfo(signal);
  const names = [name, `${name}-${nodeName.toLowerCase()}`];
  return { named: items.filter((pod) => names.includes(pod.name)), problems };
}

/** What of history could not be read. */
export function noteProblems(problems: readonly string[], terminal: Terminal): void {
  for (const problem of new Set(problems)) terminal.note(`Warning: ${problem}`);
}
