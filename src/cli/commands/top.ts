import { cpus } from "node:os";
import type { PodHolding } from "../../model/holding.ts";
import type { ContainerStats, PodStats, Summary } from "../../model/stats-summary.ts";
import type { Command } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { CliError, exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { painter } from "../output/colour.ts";
import { heldText } from "../output/holding-text.ts";
import { Table } from "../output/table.ts";

const usage = "top pods|node [POD] [flags]";
const mebibyte = 2 ** 20;
const nanosPerMilli = 1_000_000;

/** What decides about the rows and their order. */
interface TopFlags {
  readonly namespace?: string | undefined;
  readonly "all-namespaces": boolean;
  readonly containers: boolean;
  readonly "sort-by"?: string | undefined;
}

type Usage = Pick<ContainerStats, "cpu" | "memory">;

export const topCommand: Command = defineCommand({
  name: "top",
  usage,
  summary: "Show how much CPU and memory the node, its pods and their containers use.",
  details:
    "CPU is what was used between the last two readings, in thousandths of a core; memory is the working set, which\n" +
    "the kernel cannot take back without ado. A pod's memory counts beside its containers' also what they share.\n" +
    "Where containers have CPUs, memory, devices or claims for themselves, HOLDS says which.",
  examples: ["berth top pods", "berth top pods web --containers", "berth top node -o json"],
  flags: {
    containers: toggle("Show the containers of pods."),
    "sort-by": text("COLUMN", "Order pods by cpu or memory, the greatest first.", {
      choices: ["cpu", "memory"],
    }),
    namespace: namespaceFlag,
    "all-namespaces": toggle("Show the pods of all namespaces.", "A"),
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    const [kind, name, surplus] = positionals;
    const isNode = kind === "node" || kind === "nodes";
    if (!isNode && kind !== "pods" && kind !== "pod") {
      throw usageError(`say what: berth ${usage}`);
    }
    const unexpected = isNode ? name : surplus;
    if (unexpected !== undefined) throw usageError(`"${unexpected}" is not expected here`);
    const client = agentClient(flags["data-dir"], terminal);
    const summary = await client.readStats(signal);
    const pods = isNode ? [] : chosenPods(summary, flags, name);
    if (flags.output === "json") {
      terminal.out(`${JSON.stringify(isNode ? summary.node : { pods }, null, 4)}\n`);
      return exitCodes.ok;
    }
    const { columns, rows } = isNode
      ? nodeTable(summary)
      : podTable(pods, flags, (await client.describeNode(signal)).holdings);
    const table = new Table(columns, true, painter(terminal.colours));
    terminal.out(rows.length === 0 ? "No pods run here.\n" : `${table.lines(rows).join("\n")}\n`);
    return exitCodes.ok;
  },
});

function chosenPods(
  { pods }: Summary,
  flags: TopFlags,
  name: string | undefined,
): readonly PodStats[] {
  const namespace = flags["all-namespaces"] ? undefined : (flags.namespace ?? "default");
  const chosen = pods.filter(
    ({ podRef }) =>
      (namespace === undefined || podRef.namespace === namespace) &&
      (name === undefined || podRef.name === name),
  );
  if (name !== undefined && chosen.length === 0) {
    throw new CliError(`no pod ${namespace ?? "*"}/${name} runs here`, exitCodes.failed);
  }
  return chosen.toSorted(podOrder(flags["sort-by"]));
}

function podOrder(column: string | undefined): (a: PodStats, b: PodStats) => number {
  if (column === "cpu") return (a, b) => nanoCores(b) - nanoCores(a);
  if (column === "memory") return (a, b) => workingSet(b) - workingSet(a);
  const key = ({ podRef }: PodStats) => `${podRef.namespace}/${podRef.name}`;
  return (a, b) => (key(a) < key(b) ? -1 : 1);
}

interface Shown {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function podTable(
  pods: readonly PodStats[],
  flags: TopFlags,
  allHoldings: readonly PodHolding[],
): Shown {
  const { containers: showsContainers } = flags;
  const where = (pod: PodStats) => (flags["all-namespaces"] ? [pod.podRef.namespace] : []);
  const shownUids = new Set(pods.map(({ podRef }) => podRef.uid));
  const holdings = allHoldings.filter(({ pod }) => shownUids.has(pod.uid));
  const held = ({ podRef }: PodStats, name?: string): string[] => {
    if (holdings.length === 0) return [];
    const own = holdings.filter(
      ({ pod, container }) => pod.uid === podRef.uid && container === (name ?? container),
    );
    return [own.length === 0 ? "<none>" : heldText(own)];
  };
  const rows = pods.flatMap((pod) => {
    const first = [...where(pod), pod.podRef.name];
    return showsContainers
      ? pod.containers.map((one) => [...first, one.name, ...amounts(one), ...held(pod, one.name)])
      : [[...first, ...amounts(pod), ...held(pod)]];
  });
  const names = showsContainers ? ["POD", "NAME"] : ["NAME"];
  const first = flags["all-namespaces"] ? ["NAMESPACE"] : [];
  const last = holdings.length === 0 ? [] : ["HOLDS"];
  return { columns: [...first, ...names, "CPU(cores)", "MEMORY(bytes)", ...last], rows };
}

function nodeTable({ node }: Summary): Shown {
  const [cpu, memory] = amounts(node);
  const cpuPercent = percentOf(nanoCores(node), cpus().length * 1e9);
  const { availableBytes = 0 } = node.memory ?? {};
  const memoryPercent = percentOf(workingSet(node), workingSet(node) + availableBytes);
  return {
    columns: ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"],
    rows: [[node.nodeName, cpu, cpuPercent, memory, memoryPercent]],
  };
}

function amounts(used: Usage): readonly [string, string] {
  const milliCores = Math.ceil(nanoCores(used) / nanosPerMilli);
  return [`${milliCores}m`, `${Math.trunc(workingSet(used) / mebibyte)}Mi`];
}

function percentOf(part: number, whole: number): string {
  return whole === 0 ? "" : `${Math.trunc((part / whole) * 100)}%`;
}

function nanoCores({ cpu }: Usage): number {
  return cpu?.usageNanoCores ?? 0;
}

function workingSet({ memory }: Usage): number {
  return memory?.workingSetBytes ?? 0;
}
