// What is known of a pod that is gone: how it was seen last, and what was decided and reported before.
import type { HistoryEntry, HistoryKind, HistoryPod } from "../../ports/history.ts";
import type { AgentClient } from "../agent-client.ts";
import { CliError, exitCodes } from "../exit.ts";
import { noteProblems, pastPods } from "../history/past-pods.ts";
import {
  containerLines,
  entryLines,
  type HistoryLook,
  podTitle,
  statusText,
} from "../history/render-history.ts";
import type { Terminal } from "../terminal.ts";
import { ago, section } from "./explanation-text.ts";
import { syncLines } from "./sync-lines.ts";

export interface GonePod {
  readonly pod: HistoryPod;
  /** Newest first. */
  readonly syncs: readonly HistoryEntry[];
  readonly events: readonly HistoryEntry[];
}

export interface GoneQuery {
  readonly namespace: string;
  readonly name: string;
  /** At most that many syncs, and as many events. */
  readonly syncs: number;
}

/** The newest of the pods of that name that are gone. */
export async function readGonePod(
  client: AgentClient,
  { namespace, name, syncs }: GoneQuery,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<GonePod> {
  const known = await pastPods(client, { namespace, name }, terminal, signal);
  const pod = known.find(({ goneMs }) => goneMs !== undefined);
  if (pod === undefined) {
    throw new CliError(
      `pod "${name}" in namespace ${namespace} is on the node: berth why ${name} explains it`,
      exitCodes.notFound,
    );
  }
  const read = async (kind: HistoryKind): Promise<readonly HistoryEntry[]> => {
    const query = { uid: pod.uid, kinds: [kind], limit: Math.max(1, Math.min(syncs, 1000)) };
    const page = await client.readHistory(query, signal);
    noteProblems(page.problems, terminal);
    return page.items;
  };
  return { pod, syncs: await read("sync"), events: await read("event") };
}

export function renderGonePod({ pod, syncs, events }: GonePod, look: HistoryLook): string {
  const { nowMs, paint } = look;
  const { last } = pod;
  const seen =
    last === undefined
      ? ["unknown: no status of it is kept"]
      : [`${ago(last.atMs, nowMs)}:`, statusText(last), ...containerLines(last)];
  const decided = syncs.flatMap((entry) =>
    entry.kind === "sync" ? syncLines(entry, nowMs, paint) : [],
  );
  return [
    ...podTitle(pod, look),
    ...section(paint, "Last seen", seen),
    ...section(paint, "Decided, newest first", orNothing(decided)),
    ...section(paint, "Events, newest first", orNothing(entryLines(events, look))),
    "",
  ].join("\n");
}

function orNothing(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? ["nothing is kept"] : lines;
}
