import type { KubeletFlag } from "../../config/generated/kubelet-flags.ts";
import { berthVersion } from "../../lib/version.ts";
import { isPerson } from "../agent-log.ts";
import type { Command } from "../command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { commandHelp } from "../help.ts";
import { useLittleMemory } from "../little-memory.ts";
import { forbidDebugger } from "../no-debugger.ts";

/** Its flags are the kubelet's, and are read as the kubelet reads them. */
export const kubeletCommand: Command = {
  name: "kubelet",
  usage: "kubelet [kubelet's flags]",
  summary:
    "Run the agent in a kubelet's place: its flags, its configuration file, its root folder.",
  details: [
    "Standalone mode: static pods and pods from a URL. Settings that Berth does not act on are named in the log;",
    "those that matter for safety are refused. docs/kubelet.md lists them all.",
  ].join("\n"),
  examples: [
    "berth kubelet --config /var/lib/kubelet/config.yaml",
    "berth kubelet --config /etc/kubelet.yaml --config-dir /etc/kubelet.conf.d --root-dir /var/lib/kubelet",
    "berth get pods --data-dir /var/lib/kubelet",
  ],
  flags: {},
  run: async (args, terminal, signal) => {
    // Loaded only now: most commands need nothing of a kubelet.
    const { parseCommandLine } = await import("../../config/flags/command-line.ts");
    const parsed = parseCommandLine(args);
    if (!parsed.ok) throw usageError(parsed.error);
    if (parsed.value.wantsHelp) {
      terminal.out(`${commandHelp(kubeletCommand)}\n${await flagList()}`);
      return exitCodes.ok;
    }
    if ((parsed.value.settings.get("version") ?? "false") !== "false") {
      terminal.out(`Berth ${berthVersion}, in place of a kubelet of Kubernetes v1.36\n`);
      return exitCodes.ok;
    }
    useLittleMemory();
    const { readKubeletSetup } = await import("../../app/kubelet-setup.ts");
    const { runKubelet } = await import("../../app/kubelet.ts");
    const setup = readKubeletSetup(parsed.value);
    const { kubeletLogOptions } = await import("../../app/kubelet-log.ts");
    const { createProcessLog } = await import("../../app/process-log.ts");
    const log = createProcessLog(kubeletLogOptions(setup.config.logging, isPerson(terminal)));
    await forbidDebugger(log);
    await runKubelet(setup, log, (rootDir) => log.info("the agent is up", { rootDir }), signal);
    return exitCodes.ok;
  },
};

async function flagList(): Promise<string> {
  const { kubeletFlags } = await import("../../config/generated/kubelet-flags.ts");
  const names = kubeletFlags.map(({ name, shorthand }) =>
    shorthand === undefined || shorthand === name ? `--${name}` : `-${shorthand}, --${name}`,
  );
  const width = Math.max(...names.map((name) => name.length));
  const lines = kubeletFlags.map((flag, index) =>
    `  ${(names[index] ?? "").padEnd(width)}  ${flagText(flag)}`.trimEnd(),
  );
  return `The kubelet's flags:\n${lines.join("\n")}\n`;
}

function flagText({ type, default: usual, field, deprecated }: KubeletFlag): string {
  const parts = [
    type,
    ...(usual === "" ? [] : [`default ${usual}`]),
    ...(field === undefined ? [] : [`sets ${field}`]),
    ...(deprecated === true ? ["deprecated"] : []),
  ];
  return parts.join("; ");
}
