import type { Pod } from "../../model/pod.ts";
import { podRow } from "../../model/pod-row.ts";
import type { AgentClient } from "../agent-client.ts";
import type { Command, Invocation } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { CliError, exitCodes } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { followPods } from "../follow-pods.ts";
import { type PodColumns, podCells, podHeader } from "../get/pod-cells.ts";
import { isShown, WatchTable } from "../get/watch-table.ts";
import { painter } from "../output/colour.ts";
import { Table } from "../output/table.ts";
import { podNames, readPod } from "../pod-argument.ts";

const usage = "get pods [NAME...] [flags]";

const flags = {
  output: text("FORMAT", "wide, json, yaml or name.", {
    short: "o",
    choices: ["wide", "json", "yaml", "name"],
  }),
  watch: toggle("Go on and print what changes.", "w"),
  "all-namespaces": toggle("Pods of every namespace.", "A"),
  namespace: namespaceFlag,
  selector: text("SELECTOR", "Only pods with these labels, such as app=web,tier!=test.", {
    short: "l",
  }),
  "no-headers": toggle("Leave out the line with the column names."),
  "data-dir": dataDirFlag,
};

type Get = Invocation<typeof flags>;
type ShowPods = (pods: readonly Pod[]) => void;

export const getCommand: Command = defineCommand({
  name: "get",
  usage,
  summary: "List pods.",
  details: "",
  examples: [
    "berth get pods",
    "berth get pods -A -o wide",
    "berth get pods -w -l app=web",
    "berth get pod web -o yaml",
  ],
  flags,
  run: async (invocation) => {
    const { flags, positionals, terminal, signal } = invocation;
    const names = podNames(positionals, usage);
    const client = agentClient(flags["data-dir"], terminal);
    const show = await display(invocation, client, names.length === 1 && !flags.watch);
    if (flags.watch && isTable(invocation) && isShown(terminal)) {
      return watchInPlace(client, invocation, names);
    }
    if (flags.watch) return watchPods(client, invocation, names, show);
    const pods = await selectPods(client, invocation, names, signal);
    if (pods.length === 0 && isTable(invocation)) {
      terminal.note(noPods(invocation));
    } else {
      show(pods);
    }
    return exitCodes.ok;
  },
});

function namespaceOf({ flags }: Get): string | undefined {
  return flags["all-namespaces"] ? undefined : (flags.namespace ?? "default");
}

async function selectPods(
  client: AgentClient,
  invocation: Get,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  const namespace = namespaceOf(invocation);
  if (names.length === 0) {
    const query = { labelSelector: invocation.flags.selector };
    return (await client.listPods(namespace, query, signal)).items;
  }
  if (namespace === undefined) {
    throw new CliError("a pod cannot be named across all namespaces: use -n", exitCodes.usage);
  }
  return Promise.all(names.map((name) => readPod(client, namespace, name, signal)));
}

async function watchPods(
  client: AgentClient,
  invocation: Get,
  names: readonly string[],
  show: ShowPods,
): Promise<number> {
  const { flags, signal } = invocation;
  const namespace = namespaceOf(invocation);
  const wanted = (pod: Pod): boolean => names.length === 0 || names.includes(pod.metadata.name);
  const query = { labelSelector: flags.selector };
  const { items, resourceVersion } = await client.listPods(namespace, query, signal);
  const present = items.filter(wanted);
  // One block for what is there, so that the columns fit it.
  if (present.length > 0) show(present);
  const lastRow = new Map<string, string>();
  const isNew = (pod: Pod): boolean => {
    const row = JSON.stringify({ ...podRow(pod, 0), deleted: pod.metadata.deletionTimestamp });
    const changed = lastRow.get(pod.metadata.uid) !== row;
    lastRow.set(pod.metadata.uid, row);
    return changed;
  };
  for (const pod of present) isNew(pod);
  try {
    for await (const { type, pod } of client.watchPods(
      namespace,
      { ...query, resourceVersion },
      signal,
    )) {
      if (wanted(pod) && (isNew(pod) || type === "DELETED")) show([pod]);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (signal.aborted) return exitCodes.ok;
  throw new CliError("the agent has ended the watch: it was stopped", exitCodes.agentUnreachable);
}

/** One table that is drawn again and again. */
async function watchInPlace(
  client: AgentClient,
  invocation: Get,
  names: readonly string[],
): Promise<number> {
  const { flags, terminal, signal } = invocation;
  const columns = columnsOf(invocation);
  const table = new WatchTable({ client, terminal, columns, showHeader: !flags["no-headers"] });
  const ended = new AbortController();
  const lifetime = AbortSignal.any([signal, ended.signal]);
  const refreshed = table.refresh(lifetime);
  const query = { labelSelector: flags.selector };
  const wanted = (pod: Pod): boolean => names.length === 0 || names.includes(pod.metadata.name);
  try {
    for await (const pods of followPods(
      client,
      { namespace: namespaceOf(invocation), query },
      signal,
    )) {
      table.show(pods.filter(wanted));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort();
    await refreshed;
  }
  return exitCodes.ok;
}

/** How pods are printed; `single` = one object rather than a list of it. */
async function display(invocation: Get, client: AgentClient, single: boolean): Promise<ShowPods> {
  const { flags, terminal } = invocation;
  switch (flags.output) {
    case "json":
      return (pods) => terminal.out(`${JSON.stringify(objectOf(pods, single), null, 4)}\n`);
    case "yaml": {
      // Loaded only now: it is most of what this command may need.
      const { toYaml } = await import("../output/yaml.ts");
      return (pods) =>
        terminal.out(
          `${flags.watch ? "---\n" : ""}${toYaml(objectOf(pods, single || flags.watch))}`,
        );
    }
    case "name":
      return (pods) => {
        for (const { metadata } of pods) terminal.out(`pod/${metadata.name}\n`);
      };
    default:
      return displayTable(invocation, client);
  }
}

function objectOf(pods: readonly Pod[], single: boolean): unknown {
  const [only] = pods;
  if (single && only !== undefined && pods.length === 1) return only;
  return { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: pods };
}

function displayTable(invocation: Get, client: AgentClient): ShowPods {
  const { flags, terminal } = invocation;
  const columns = columnsOf(invocation);
  const table = new Table(podHeader(columns), !flags["no-headers"], painter(terminal.colours));
  return (pods) => {
    const nowMs = client.agentTime(terminal.nowMs());
    const rows = pods.map((pod) => podCells(pod, columns, nowMs));
    for (const line of table.lines(rows)) terminal.out(`${line}\n`);
  };
}

function columnsOf({ flags }: Get): PodColumns {
  return { withNamespace: flags["all-namespaces"], isWide: flags.output === "wide" };
}

function isTable({ flags }: Get): boolean {
  return flags.output === undefined || flags.output === "wide";
}

function noPods({ flags }: Get): string {
  const where = flags["all-namespaces"] ? "" : ` in ${flags.namespace ?? "default"} namespace`;
  return `No resources found${where}.`;
}
