import type { Command } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { exitCodes, usageError } from "../exit.ts";

const usage = "completion bash|zsh|fish";

/** `commands` is the table that this command stands in, too. */
export function completionCommand(commands: () => readonly Command[]): Command {
  return defineCommand({
    name: "completion",
    usage,
    summary: "Print what makes a shell complete commands, flags and names of pods.",
    details: "The Debian package installs it for all three shells.",
    examples: [
      "source <(berth completion bash)",
      "berth completion zsh > ~/.zfunc/_berth",
      "berth completion fish > ~/.config/fish/completions/berth.fish",
    ],
    flags: {},
    run: async ({ positionals, terminal }) => {
      const [shell, surplus] = positionals;
      if (surplus !== undefined) throw usageError(`"${surplus}" is not expected here`);
      const { completionScript } = await import("../completion/completion-script.ts");
      const script = completionScript(shell ?? "", commands());
      if (script === undefined) throw usageError(`say for which shell: berth ${usage}`);
      terminal.out(script);
      return exitCodes.ok;
    },
  });
}
