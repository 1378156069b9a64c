import type { Command } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text } from "../flags.ts";
import { painter } from "../output/colour.ts";
import { onlyPod, readPod } from "../pod-argument.ts";
import { renderExplanation } from "../why/render-explanation.ts";

const usage = "why POD [flags]";
const defaultSyncs = "5";

export const whyCommand: Command = defineCommand({
  name: "why",
  usage,
  summary: "Explain a pod: what is wanted, seen, decided and awaited.",
  details:
    "Every decision of the agent is recorded with its reason. This shows the last ones of a pod,\n" +
    "and what it waits for now.",
  examples: ["berth why crash", "berth why web -n team --syncs 20", "berth why web -o json"],
  flags: {
    syncs: text("COUNT", `How many of the last syncs to show (default ${defaultSyncs}).`),
    output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
    namespace: namespaceFlag,
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    const syncs = flags.syncs ?? defaultSyncs;
    if (!/^\d+$/.test(syncs)) throw usageError(`flag --syncs: "${syncs}" is no count`);
    const name = onlyPod(positionals, usage);
    const client = agentClient(flags["data-dir"], terminal);
    const pod = await readPod(client, flags.namespace ?? "default", name, signal);
    const explanation = await client.explain(pod.metadata.uid, signal);
    terminal.out(
      flags.output === "json"
        ? `${JSON.stringify(explanation, null, 4)}\n`
        : renderExplanation(explanation, {
            nowMs: terminal.nowMs(),
            paint: painter(terminal.colours),
            syncs: Number(syncs),
          }),
    );
    return exitCodes.ok;
  },
});
