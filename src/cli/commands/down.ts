import { agentLog, logFormatFlag, logLevelFlag } from "../agent-log.ts";
import type { Command } from "../command.ts";
import { chooseDataDir, dataDirFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes } from "../exit.ts";
import { toggle } from "../flags.ts";

export const downCommand: Command = defineCommand({
  name: "down",
  usage: "down [flags]",
  summary: "Stop the agent and its pods, and remove everything of its data folder.",
  details:
    "Pods get their grace period, and CSI drivers are asked to give volumes back before they are ended. Manifests that lie in the data folder are kept, and what PersistentVolumeClaims hold.",
  examples: ["berth down", "berth down --volumes", "berth down --data-dir /srv/berth"],
  flags: {
    volumes: toggle("also remove what PersistentVolumeClaims hold"),
    "data-dir": dataDirFlag,
    "log-level": logLevelFlag,
    "log-format": logFormatFlag,
  },
  run: async ({ flags, terminal }) => {
    const log = await agentLog(
      { level: flags["log-level"], format: flags["log-format"] },
      terminal,
    );
    const { runDown } = await import("../../app/down.ts");
    const removeVolumes = flags.volumes;
    await runDown(chooseDataDir(flags["data-dir"], terminal), log, { removeVolumes });
    return exitCodes.ok;
  },
});
