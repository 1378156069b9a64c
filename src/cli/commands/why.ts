import { once } from "node:events";
import type { Command, Invocation } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { painter } from "../output/colour.ts";
import { onlyPod, readPod } from "../pod-argument.ts";
import { renderExplanation } from "../why/render-explanation.ts";

const usage = "why POD [flags]";
const recordingUsage = "why [POD] --recording";
const defaultSyncs = "5";

const flags = {
  syncs: text("COUNT", `How many of the last syncs to show (default ${defaultSyncs}).`),
  output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
  recording: toggle("Write a recording for `berth replay` instead."),
  namespace: namespaceFlag,
  "data-dir": dataDirFlag,
};

export const whyCommand: Command = defineCommand({
  name: "why",
  usage,
  summary: "Explain a pod: what is wanted, seen, decided and awaited.",
  details:
    "Every decision of the agent is recorded with its reason. This shows the last ones of a pod,\n" +
    "and what it waits for now. --recording writes the decisions, of all pods unless one is named, with all that\n" +
    "they were made from but no secrets; `berth replay` makes them again.",
  examples: [
    "berth why crash",
    "berth why web -n team --syncs 20",
    "berth why web -o json",
    "berth why web --recording > web.jsonl",
  ],
  flags,
  run: async (invocation) => {
    const { flags, positionals, terminal, signal } = invocation;
    if (flags.recording) return record(invocation);
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
            nowMs: client.agentTime(terminal.nowMs()),
            paint: painter(terminal.colours),
            syncs: Number(syncs),
          }),
    );
    return exitCodes.ok;
  },
});

async function record(invocation: Invocation<typeof flags>): Promise<number> {
  const { flags, positionals, terminal, signal } = invocation;
  const client = agentClient(flags["data-dir"], terminal);
  const name = positionals.length === 0 ? undefined : onlyPod(positionals, recordingUsage);
  const pod =
    name === undefined
      ? undefined
      : await readPod(client, flags.namespace ?? "default", name, signal);
  const { stdout } = terminal;
  for await (const chunk of await client.openRecording(pod?.metadata.uid, signal)) {
    if (!stdout.write(chunk)) await once(stdout, "drain", { signal });
  }
  return exitCodes.ok;
}
