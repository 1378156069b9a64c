import { once } from "node:events";
import { formatTime } from "../../lib/time.ts";
import { podKey } from "../../model/pod.ts";
import type { AgentClient } from "../agent-client.ts";
import type { Command, Invocation } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { CliError, exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { findPastPods } from "../history/past-pods.ts";
import { painter } from "../output/colour.ts";
import { placedProblemText } from "../output/problem-text.ts";
import { onlyPod, readPod } from "../pod-argument.ts";
import { type GoneQuery, readGonePod, renderGonePod } from "../why/explain-gone.ts";
import { renderExplanation } from "../why/render-explanation.ts";

const usage = "why POD [flags]";
const recordingUsage = "why [POD] --recording";
const defaultSyncs = "5";

const flags = {
  syncs: text("COUNT", `How many of the last syncs to show (default ${defaultSyncs}).`),
  output: text("FORMAT", "json.", { short: "o", choices: ["json"] }),
  recording: toggle("Write a recording for `berth replay` instead."),
  gone: toggle("The newest pod of that name that is gone, from history."),
  namespace: namespaceFlag,
  "data-dir": dataDirFlag,
};

type Why = Invocation<typeof flags>;

export const whyCommand: Command = defineCommand({
  name: "why",
  usage,
  summary: "Explain a pod: what is wanted, seen, decided and awaited.",
  details:
    "Every decision of the agent is recorded with its reason. This shows the last ones of a pod,\n" +
    "and what it waits for now. --gone does so for a pod that is gone, as long as history reaches back. --recording writes the decisions, of all pods unless one is named, with all that\n" +
    "they were made from but no secrets; `berth replay` makes them again.",
  examples: [
    "berth why crash",
    "berth why web -n team --syncs 20",
    "berth why web -o json",
    "berth why web --gone",
    "berth why web --recording > web.jsonl",
  ],
  flags,
  run: async (invocation) => {
    const { flags, positionals, terminal, signal } = invocation;
    if (flags.recording && flags.gone) {
      throw usageError("--recording and --gone exclude each other");
    }
    if (flags.recording) return record(invocation);
    const syncs = flags.syncs ?? defaultSyncs;
    if (!/^\d+$/.test(syncs)) throw usageError(`flag --syncs: "${syncs}" is not a number`);
    const name = onlyPod(positionals, usage);
    const client = agentClient(flags["data-dir"], terminal);
    const namespace = flags.namespace ?? "default";
    if (flags.gone)
      return explainGone(invocation, client, { namespace, name, syncs: Number(syncs) });
    const pod = await readPod(client, namespace, name, signal).catch(async (error: unknown) => {
      throw await withGone(await withRefusals(error, client, signal), {
        client,
        namespace,
        name,
        signal,
      });
    });
    const explanation = await client.explain(pod.metadata.uid, signal);
    const all = (await client.listProblems(signal)).problems;
    const problems = all.filter(({ pods = [] }) => pods.includes(podKey(pod)));
    terminal.out(
      flags.output === "json"
        ? `${JSON.stringify({ ...explanation, problems }, null, 4)}\n`
        : renderExplanation(explanation, {
            nowMs: client.agentTime(terminal.nowMs()),
            paint: painter(terminal.colours),
            syncs: Number(syncs),
            problems,
          }),
    );
    return exitCodes.ok;
  },
});

async function explainGone(
  { flags, terminal, signal }: Why,
  client: AgentClient,
  query: GoneQuery,
): Promise<number> {
  const gone = await readGonePod(client, query, terminal, signal);
  const nowMs = client.agentTime(terminal.nowMs());
  terminal.out(
    flags.output === "json"
      ? `${JSON.stringify(gone, null, 4)}\n`
      : renderGonePod(gone, { nowMs, paint: painter(terminal.colours) }),
  );
  return exitCodes.ok;
}

/** A missing pod may be one whose manifest was refused: only the source knows what is in it. */
async function withRefusals(
  error: unknown,
  client: AgentClient,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof CliError) || error.exitCode !== exitCodes.notFound) return error;
  const { problems } = await client.listProblems(signal);
  if (problems.length === 0) return error;
  const lines = [
    error.message,
    "It may be in what was refused:",
    ...problems.map((problem) => `  ${placedProblemText(problem)}`),
  ];
  return new CliError(lines.join("\n"), error.exitCode);
}

/** A missing pod may have been here: history explains it. */
async function withGone(error: unknown, { client, signal, ...named }: GoneLook): Promise<unknown> {
  if (!(error instanceof CliError) || error.exitCode !== exitCodes.notFound) return error;
  const [newest] = await findPastPods(client, named, signal);
  if (newest?.goneMs === undefined) return error;
  const message = `${error.message}\nIt was here and is gone since ${formatTime(newest.goneMs)}: add --gone`;
  return new CliError(message, error.exitCode);
}

interface GoneLook {
  readonly client: AgentClient;
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

async function record(invocation: Why): Promise<number> {
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
