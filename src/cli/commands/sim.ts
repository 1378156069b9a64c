import { agentLog, logFormatFlag, logLevelFlag } from "../agent-log.ts";
import type { Command } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { list, text } from "../flags.ts";
import { forbidDebugger } from "../no-debugger.ts";
import { uiFlags } from "../ui-flags.ts";

const usage = "sim -f PATH [-f PATH...] [flags]";
const defaultNodeName = "sim";
const fastest = 1000;

export const simCommand: Command = defineCommand({
  name: "sim",
  usage,
  summary: "Run the agent on a simulated machine: no root, no containers.",
  details: [
    "The agent is the real one; containers, images, probes and hooks are simulated, and do what annotations of",
    'their pod say, such as sim.berth.dev/CONTAINER: "run 5s, exit 1". Runs in the foreground until Ctrl-C; nothing',
    "is kept then. All other commands work on it with the data dir that it prints. Manifests are picked up as they",
    "change. docs/cli.md describes the format of scripts.",
  ].join("\n"),
  examples: [
    "berth sim -f examples/sim",
    "berth sim -f web.yaml -f crash.yaml --speed 60",
    'BERTH_DATA_DIR="$XDG_RUNTIME_DIR/berth-sim" berth get pods -w',
  ],
  flags: {
    filename: list("PATH", "Manifest, or folder of manifests; may be given several times.", "f"),
    speed: text("N", `Let time run so many times as fast (default 1, at most ${fastest}).`),
    "node-name": text("NAME", `Name of the simulated node (default ${defaultNodeName}).`),
    "data-dir": text(
      "DIR",
      "Folder of the agent's socket and logs (default $BERTH_DATA_DIR, or a folder of yours).",
    ),
    ...uiFlags,
    "log-level": logLevelFlag,
    "log-format": logFormatFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    // A shell makes several paths of -f pods/*.yaml.
    const manifests = [...flags.filename, ...positionals];
    if (flags.filename.length === 0) {
      throw usageError(`say which manifests with -f: berth ${usage}`);
    }
    const speed = parseSpeed(flags.speed ?? "1");
    const log = await agentLog(
      { level: flags["log-level"], format: flags["log-format"] },
      terminal,
    );
    await forbidDebugger(log);
    const { BERTH_DATA_DIR, XDG_RUNTIME_DIR } = terminal.environment;
    const { parseUi, uiFlags: names } = await import("../../app/ui-options.ts");
    const { runSim } = await import("../../app/sim.ts");
    await runSim(
      {
        manifests,
        speed,
        nodeName: flags["node-name"] ?? defaultNodeName,
        dataDir: flags["data-dir"] ?? (BERTH_DATA_DIR || undefined),
        runtimeDir: XDG_RUNTIME_DIR || undefined,
        ui: parseUi(
          {
            ui: flags.ui,
            uiTerminal: flags["ui-terminal"],
            uiAllowNetwork: flags["ui-allow-network"],
          },
          names,
        ),
      },
      log,
      (dataDir) => terminal.out(welcome(dataDir, speed)),
      signal,
    );
    return exitCodes.ok;
  },
});

function parseSpeed(given: string): number {
  const speed = /^\d+(?:\.\d+)?$/.test(given) ? Number(given) : 0;
  if (speed > 0 && speed <= fastest) return speed;
  throw usageError(
    `flag --speed: "${given}" is not a speed: give a number above 0, at most ${fastest}`,
  );
}

function welcome(dataDir: string, speed: number): string {
  const pace = speed === 1 ? "" : `, ${speed} times as fast as real time`;
  return [
    `The agent is up on a simulated machine${pace}. In another terminal:`,
    `  export BERTH_DATA_DIR=${dataDir}`,
    "  berth get pods -w",
    "",
  ].join("\n");
}
