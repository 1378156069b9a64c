import { formatAge, parseDuration } from "../../lib/duration.ts";
import type { HistoryEntry, HistoryKind, HistoryPod, HistoryQuery } from "../../ports/history.ts";
import type { AgentClient } from "../agent-client.ts";
import type { Command, Invocation } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { noteProblems, pastPods } from "../history/past-pods.ts";
import { entryLines, podTitle } from "../history/render-history.ts";
import { painter, printable } from "../output/colour.ts";
import { Table } from "../output/table.ts";
import { onlyPod } from "../pod-argument.ts";

const usage = "history [POD] [flags]";
const defaultLimit = 200;
/** The most that the agent answers at once. */
const pageSize = 1000;
const nodeKinds: readonly HistoryKind[] = ["node", "node-event", "agent"];

const flags = {
  since: text("DURATION", "Only what is younger than that, such as 90s, 5m or 24h."),
  limit: text("COUNT", `At most so many entries, the newest (default ${defaultLimit}).`),
  node: toggle("What happened to the node itself."),
  output: text("FORMAT", "json: a line for each entry or pod.", { short: "o", choices: ["json"] }),
  namespace: namespaceFlag,
  "all-namespaces": toggle("Pods of every namespace.", "A"),
  "data-dir": dataDirFlag,
};

type History = Invocation<typeof flags>;

export const historyCommand: Command = defineCommand({
  name: "history",
  usage,
  summary: "Show what happened, also to pods that are gone.",
  details:
    "Without POD it lists the pods that history knows. With POD it prints what happened to the pods of that name,\n" +
    "oldest first: statuses, decisions with their reasons, events. History survives restarts of the agent and the machine;\n" +
    "`berth up --history-max-size` and `--history-max-age` bound it.",
  examples: [
    "berth history",
    "berth history web",
    "berth history web --since 1h",
    "berth history --node --since 24h",
    "berth history -A -o json",
  ],
  flags,
  run: async (invocation) => {
    const { flags, positionals, terminal, signal } = invocation;
    const limit = limitOf(flags.limit);
    const sinceMs = flags.since === undefined ? undefined : durationOf(flags.since);
    if (flags.node && positionals.length > 0) {
      throw usageError("--node and a pod exclude each other");
    }
    const client = agentClient(flags["data-dir"], terminal);
    // Its answer has the time of the agent, which "since" is counted from.
    await client.readInfo(signal);
    const nowMs = client.agentTime(terminal.nowMs());
    const query = { limit, sinceMs: sinceMs === undefined ? undefined : nowMs - sinceMs };
    if (flags.node) {
      await showEntries(client, invocation, { ...query, kinds: nodeKinds }, nowMs);
    } else if (positionals.length === 0) {
      await listPods(client, invocation, query.sinceMs, nowMs);
    } else {
      await showPods(client, invocation, query, nowMs);
    }
    return exitCodes.ok;
  },
});

function limitOf(flag: string | undefined): number {
  if (flag === undefined) return defaultLimit;
  if (/^[1-9]\d{0,6}$/.test(flag)) return Number(flag);
  throw usageError(`flag --limit: "${flag}" is not a number from 1 to 9999999`);
}

function durationOf(flag: string): number {
  const duration = parseDuration(flag);
  if (duration.ok && duration.value >= 0) return duration.value;
  throw usageError(`flag --since: "${flag}" is not a duration; write 90s, 5m or 24h`);
}

async function listPods(
  client: AgentClient,
  { flags, terminal, signal }: History,
  sinceMs: number | undefined,
  nowMs: number,
): Promise<void> {
  const namespace = flags["all-namespaces"] ? undefined : (flags.namespace ?? "default");
  const { items, isCut, problems } = await client.listHistoryPods(signal);
  noteProblems(problems, terminal);
  const pods = items.filter(
    (pod) =>
      (namespace === undefined || pod.namespace === namespace) &&
      (sinceMs === undefined || pod.lastSeenMs >= sinceMs),
  );
  if (flags.output === "json") {
    for (const pod of pods) terminal.out(`${JSON.stringify(pod)}\n`);
  } else if (pods.length === 0) {
    terminal.note(
      `History knows no pods${namespace === undefined ? "" : ` in namespace ${namespace}`}.`,
    );
  } else {
    printTable(pods, namespace === undefined, { terminal, nowMs });
  }
  if (isCut) terminal.note("There are older pods: only the newest are listed.");
}

function printTable(
  pods: readonly HistoryPod[],
  withNamespace: boolean,
  { terminal, nowMs }: Pick<History, "terminal"> & { readonly nowMs: number },
): void {
  const columns = ["NAME", "READY", "STATUS", "RESTARTS", "FIRST SEEN", "GONE", "UID"];
  const header = withNamespace ? ["NAMESPACE", ...columns] : columns;
  const table = new Table(header, true, painter(terminal.colours));
  const rows = pods.map(({ namespace, name, uid, firstSeenMs, goneMs, last }) => [
    ...(withNamespace ? [namespace] : []),
    name,
    last?.ready ?? "-",
    printable(last?.status ?? "Unknown"),
    last === undefined ? "-" : String(last.restarts),
    `${formatAge(nowMs - firstSeenMs)} ago`,
    goneMs === undefined ? "-" : `${formatAge(nowMs - goneMs)} ago`,
    uid,
  ]);
  for (const line of table.lines(rows)) terminal.out(`${line}\n`);
}

/** Pods of one name, the oldest first. */
async function showPods(
  client: AgentClient,
  invocation: History,
  query: HistoryQuery,
  nowMs: number,
): Promise<void> {
  const { flags, positionals, terminal, signal } = invocation;
  const name = onlyPod(positionals, usage);
  const namespace = flags.namespace ?? "default";
  const known = await pastPods(client, { namespace, name }, terminal, signal);
  const { sinceMs } = query;
  const pods = known.filter((pod) => sinceMs === undefined || pod.lastSeenMs >= sinceMs);
  if (pods.length === 0) {
    terminal.note(`Nothing happened to pod "${name}" since then.`);
  }
  const isText = flags.output === undefined;
  for (const [index, pod] of pods.toReversed().entries()) {
    const title = podTitle(pod, { nowMs, paint: painter(terminal.colours) });
    if (isText) terminal.out(`${index === 0 ? "" : "\n"}${title.join("\n")}\n\n`);
    await showEntries(client, invocation, { ...query, uid: pod.uid }, nowMs);
  }
}

async function showEntries(
  client: AgentClient,
  { flags, terminal, signal }: History,
  query: HistoryQuery,
  nowMs: number,
): Promise<void> {
  const { entries, hasOlder } = await readEntries(client, query, { terminal, signal });
  if (flags.output === "json") {
    for (const entry of entries) terminal.out(`${JSON.stringify(entry)}\n`);
    return;
  }
  if (hasOlder) terminal.out(`older entries are left out: --limit shows more\n`);
  const look = { nowMs, paint: painter(terminal.colours) };
  for (const line of entryLines(entries, look)) terminal.out(`${line}\n`);
}

/** The newest entries, oldest first. */
async function readEntries(
  client: AgentClient,
  query: HistoryQuery,
  { terminal, signal }: Pick<History, "terminal" | "signal">,
): Promise<{ readonly entries: readonly HistoryEntry[]; readonly hasOlder: boolean }> {
  const most = query.limit ?? defaultLimit;
  const entries: HistoryEntry[] = [];
  let before: string | undefined;
  do {
    const limit = Math.min(most - entries.length, pageSize);
    const page = await client.readHistory({ ...query, limit, before }, signal);
    noteProblems(page.problems, terminal);
    entries.push(...page.items);
    before = page.next;
  } while (before !== undefined && entries.length < most);
  // A sync is written when it has ended, with the time at which it began.
  const oldestFirst = entries.toReversed().toSorted((a, b) => a.atMs - b.atMs);
  return { entries: oldestFirst, hasOlder: before !== undefined };
}
