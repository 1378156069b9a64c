import type { Command } from "../command.ts";
import { agentClient, dataDirFlag } from "../common-flags.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";
import { toggle } from "../flags.ts";
import { openInDesktop } from "../open-in-desktop.ts";

export const uiCommand: Command = defineCommand({
  name: "ui",
  usage: "ui [flags]",
  summary: "Log in to the agent's page: prints its address, and opens it where there is a desktop.",
  details: [
    "The agent serves the page where it was started with --ui (`berth kubelet`: BERTH_UI=on). The address has a login that",
    "one browser can use once, within five minutes. From another machine: ssh -L 10260:127.0.0.1:10260 HOST, and open it there.",
  ].join("\n"),
  examples: ["berth ui", "berth ui --print"],
  flags: {
    print: toggle("Only print the address."),
    "data-dir": dataDirFlag,
  },
  run: async ({ flags, positionals, terminal, signal }) => {
    if (positionals.length > 0) throw usageError(`ui takes no argument "${positionals[0]}"`);
    const { address, code } = await agentClient(flags["data-dir"], terminal).newUiLogin(signal);
    const link = `${address}#login=${code}`;
    terminal.out(`${link}\n`);
    if (!flags.print) openInDesktop(link, terminal.environment);
    return exitCodes.ok;
  },
});
