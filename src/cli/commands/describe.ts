import type { Pod } from "../../model/pod.ts";
import type { Command } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { describePod } from "../describe/describe-pod.ts";
import { exitCodes } from "../exit.ts";
import { text } from "../flags.ts";
import { podNames, readPod } from "../pod-argument.ts";

const usage = "describe pod [NAME...] [flags]";

export const describeCommand: Command = defineCommand({
  name: "describe",
  usage,
  summary: "Show all that is known of a pod, with its events.",
  details: "",
  examples: ["berth describe pod web", "berth describe pod web -n team", "berth describe pods"],
  flags: {
    namespace: namespaceFlag,
    selector: text("SELECTOR", "Only pods with these labels.", { short: "l" }),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    const names = podNames(positionals, usage);
    const client = agentClient(flags["data-dir"], terminal);
    const namespace = flags.namespace ?? "default";
    const pods: readonly Pod[] =
      names.length === 0
        ? (await client.listPods(namespace, { labelSelector: flags.selector }, signal)).items
        : await Promise.all(names.map((name) => readPod(client, namespace, name, signal)));
    const texts = await Promise.all(
      pods.map(async (pod) =>
        describePod(pod, await client.listEvents(pod, signal), client.agentTime(terminal.nowMs())),
      ),
    );
    if (pods.length === 0) terminal.note(`No resources found in ${namespace} namespace.`);
    terminal.out(texts.join("\n\n"));
    return exitCodes.ok;
  },
});
