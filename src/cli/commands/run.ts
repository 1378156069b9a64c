import { parseDuration } from "../../lib/duration.ts";
import type { Command } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { list, text } from "../flags.ts";

const usage = "run -f PATH [flags]";

const levels = ["debug", "info", "warn", "error"] as const;

const flags = {
  filename: list("PATH", "Manifest, or folder of manifests; - reads standard input.", "f"),
  timeout: text("DURATION", "Give up after that time, such as 10m (default never)."),
  "runtime-endpoint": text("URL", "Use this CRI socket instead of a containerd of Berth's own."),
  "node-name": text("NAME", "Name of the node (default the host name)."),
  bridge: text("NAME", "Bridge of the pods' network (default berth0)."),
  subnet: text("CIDR", "IPv4 network of the pods (default 10.88.0.0/16)."),
  "cgroup-root": text("PATH", "The cgroup below which all pods lie."),
  "log-level": text("LEVEL", "What of the agent's own log is shown (default error).", {
    choices: levels,
  }),
};

export const runCommand: Command = defineCommand({
  name: "run",
  usage,
  summary: "Run pods to their end, with their logs, on a node of their own.",
  details: [
    "Starts a node for these manifests alone, copies what their containers write, ends with the first exit code",
    "that is not 0, and removes everything. Ctrl-C ends the pods, each within its grace period; a second one ends",
    "the command at once, and what it started is removed in the background. The restartPolicy of the pods has to",
    "be Never or OnFailure. docs/cli.md lists the exit codes.",
  ].join("\n"),
  examples: [
    "berth run -f test.yaml",
    "berth run -f pods/ --timeout 10m",
    "generate-pod | berth run -f -",
    "berth run -f test.yaml --runtime-endpoint unix:///run/containerd/containerd.sock",
  ],
  flags,
  run: async ({ flags: given, positionals, terminal, signal }) => {
    const paths = [...given.filename, ...positionals];
    if (given.filename.length === 0) {
      throw usageError(`say which manifests with -f: berth ${usage}`);
    }
    const timeoutMs = given.timeout === undefined ? undefined : parseTimeout(given.timeout);
    const { readManifestPaths } = await import("../../app/read-manifests.ts");
    const { runPods } = await import("../run/run-pods.ts");
    const manifests = await readManifestPaths(paths, terminal.stdin);
    if (signal.aborted) return exitCodes.failed;
    const options = {
      timeoutMs,
      nodeName: given["node-name"],
      runtimeEndpoint: given["runtime-endpoint"],
      bridge: given.bridge,
      subnet: given.subnet,
      cgroupRoot: given["cgroup-root"],
      logLevel: levels.find((level) => level === given["log-level"]) ?? "error",
    };
    return runPods(manifests, options, terminal, signal);
  },
});

function parseTimeout(given: string): number {
  const duration = parseDuration(given);
  if (duration.ok && duration.value > 0) return duration.value;
  throw usageError(`flag --timeout: "${given}" is not a duration above 0; write 90s, 10m or 1h30m`);
}
