import type { Pod } from "../../model/pod.ts";
import type { Command } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { describeNode } from "../describe/describe-node.ts";
import { describePod } from "../describe/describe-pod.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text } from "../flags.ts";
import { podNames, readPod } from "../pod-argument.ts";

const usage = "describe pod|node [NAME...] [flags]";

export const describeCommand: Command = defineCommand({
  name: "describe",
  usage,
  summary:
    "Show all that is known of a pod, with its events, or of the node and who has what of it.",
  details: "",
  examples: [
    "berth describe pod web",
    "berth describe pod web -n team",
    "berth describe pods",
    "berth describe node",
  ],
  flags: {
    namespace: namespaceFlag,
    selector: text("SELECTOR", "Only pods with these labels.", { short: "l" }),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    const client = agentClient(flags["data-dir"], terminal);
    const [kind, surplus] = positionals;
    if (kind === "node" || kind === "nodes") {
      if (surplus !== undefined)
        throw usageError(`"${surplus}" is not expected here: there is one node`);
      terminal.out(describeNode(await client.describeNode(signal)));
      return exitCodes.ok;
    }
    const names = podNames(positionals, usage);
    const namespace = flags.namespace ?? "default";
    const pods: readonly Pod[] =
      names.length === 0
        ? (await client.listPods(namespace, { labelSelector: flags.selector }, signal)).items
        : await Promise.all(names.map((name) => readPod(client, namespace, name, signal)));
    const { holdings } = await client.describeNode(signal);
    const texts = await Promise.all(
      pods.map(async (pod) => {
        const own = holdings.filter((held) => held.pod.uid === pod.metadata.uid);
        const known = { events: await client.listEvents(pod, signal), holdings: own };
        return describePod(pod, known, client.agentTime(terminal.nowMs()));
      }),
    );
    if (pods.length === 0) terminal.note(`No resources found in ${namespace} namespace.`);
    terminal.out(texts.join("\n\n"));
    return exitCodes.ok;
  },
});
