import type { Command, CommandSpec } from "./command.ts";
import { exitCodes } from "./exit.ts";
import { type Flags, parseFlags } from "./flags.ts";
import { commandHelp } from "./help.ts";

/** Makes a command of its description: flags are parsed, and --help is answered, before it runs. */
export function defineCommand<F extends Flags>(spec: CommandSpec<F>): Command {
  const command: Command = {
    ...spec,
    run: async (args, terminal, signal) => {
      const { wantsHelp, ...invocation } = parseFlags(args, spec.flags);
      if (wantsHelp) {
        terminal.out(commandHelp(command));
        return exitCodes.ok;
      }
      return spec.run({ ...invocation, terminal, signal });
    },
  };
  return command;
}
