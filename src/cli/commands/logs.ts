import { once } from "node:events";
import { parseDuration } from "../../lib/duration.ts";
import { parseTime } from "../../lib/time.ts";
import type { Pod } from "../../model/pod.ts";
import type { AgentClient } from "../agent-client.ts";
import type { Command, Invocation } from "../command.ts";
import { agentClient, dataDirFlag, namespaceFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { text, toggle } from "../flags.ts";
import { prefixLines } from "../output/prefix-lines.ts";
import { chooseContainer, onlyPod, readPod } from "../pod-argument.ts";

const usage = "logs POD [-c CONTAINER] [flags]";

const flags = {
  follow: toggle("Go on as the log grows.", "f"),
  previous: toggle("The run before the current one.", "p"),
  container: text("NAME", "Container of the pod.", { short: "c" }),
  "all-containers": toggle("Every container, each line with its name in front."),
  tail: text("LINES", "Only the last lines (default all)."),
  since: text("DURATION", "Only lines younger than that, such as 90s, 5m or 1h."),
  "since-time": text("TIME", "Only lines from that time on, as in 2026-01-01T00:00:00Z."),
  timestamps: toggle("Show when each line was written."),
  "limit-bytes": text("BYTES", "End after so many bytes."),
  prefix: toggle("Put the pod and the container in front of each line."),
  namespace: namespaceFlag,
  "data-dir": dataDirFlag,
};

type Logs = Invocation<typeof flags>;

export const logsCommand: Command = defineCommand({
  name: "logs",
  usage,
  summary: "Print what a container wrote.",
  details: "",
  examples: [
    "berth logs web",
    "berth logs web -c sidecar -f --tail 20",
    "berth logs crash -p",
    "berth logs web --since 5m --timestamps",
    "berth logs web --all-containers",
  ],
  flags,
  run: async (invocation) => {
    const { flags, positionals, terminal, signal } = invocation;
    const queryAt = logQuery(invocation);
    if (flags["all-containers"] && flags.container !== undefined) {
      throw usageError("--all-containers and --container exclude each other");
    }
    const name = onlyPod(positionals, usage);
    const client = agentClient(flags["data-dir"], terminal);
    const pod = await readPod(client, flags.namespace ?? "default", name, signal);
    const query = queryAt(client.agentTime(terminal.nowMs()));
    const containers = flags["all-containers"]
      ? allContainers(pod)
      : [chooseContainer(pod, flags.container, terminal)];
    const withPrefix = flags.prefix || flags["all-containers"];
    const copy = (container: string): Promise<void> =>
      copyLog(client, pod, { ...query, container }, { ...invocation, withPrefix });
    if (flags.follow) await Promise.all(containers.map(copy));
    else for (const container of containers) await copy(container);
    return exitCodes.ok;
  },
});

function allContainers({ spec }: Pod): string[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  return [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name);
}

function sinceFlagMs(text: string): number {
  const duration = parseDuration(text);
  if (duration.ok && duration.value >= 0) return duration.value;
  throw usageError(`flag --since: "${text}" is not a duration; write 90s, 5m or 1h30m`);
}

type LogQuery = Readonly<Record<string, string | undefined>>;

/** Checks the flags; what they mean may depend on the time. */
function logQuery({ flags }: Logs): (nowMs: number) => LogQuery {
  const { tail, since } = flags;
  const sinceMs = since === undefined ? undefined : sinceFlagMs(since);
  const sinceTime = flags["since-time"];
  if (sinceTime !== undefined && parseTime(sinceTime) === undefined) {
    throw usageError(`flag --since-time: "${sinceTime}" is not a time; write 2026-01-01T00:00:00Z`);
  }
  if (sinceTime !== undefined && sinceMs !== undefined) {
    throw usageError("--since and --since-time exclude each other");
  }
  if (tail !== undefined && !/^(-1|\d+)$/.test(tail)) {
    throw usageError(`flag --tail: "${tail}" is not a number of lines`);
  }
  return (nowMs) => ({
    follow: flags.follow ? "true" : undefined,
    previous: flags.previous ? "true" : undefined,
    timestamps: flags.timestamps ? "true" : undefined,
    tailLines: tail === "-1" ? undefined : tail,
    // Finer than whole seconds, which is all that sinceSeconds can say.
    sinceTime: sinceMs === undefined ? sinceTime : new Date(nowMs - sinceMs).toISOString(),
    limitBytes: flags["limit-bytes"],
  });
}

interface CopyOptions extends Logs {
  readonly withPrefix: boolean;
}

async function copyLog(
  client: AgentClient,
  pod: Pod,
  query: LogQuery,
  { terminal, signal, withPrefix }: CopyOptions,
): Promise<void> {
  const { stdout } = terminal;
  try {
    const log = await client.openLog(pod, query, signal);
    const prefix = `[pod/${pod.metadata.name}/${query["container"]}] `;
    const chunks: AsyncIterable<string | Uint8Array> = withPrefix ? prefixLines(log, prefix) : log;
    for await (const chunk of chunks) {
      if (!stdout.write(chunk)) await once(stdout, "drain", { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
