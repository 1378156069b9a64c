import { CommandError } from "../../lib/command-error.ts";
import type { Commands } from "../../ports/commands.ts";
import { HungPathError, type HungPaths } from "./hung-paths.ts";
import { CommandTimeoutError, runProgram } from "./volume-command.ts";

/** The programs of this machine. */
export function linuxCommands(hungPaths: HungPaths): Commands {
  return {
    run: async ([program = "", ...args], { timeoutMs, input }, signal) => {
      try {
        const command = { program, args, timeoutMs, input, shown: program };
        const { exitCode, output } = await runProgram(command, hungPaths, signal);
        return { exitCode, output };
      } catch (error) {
        signal.throwIfAborted();
        throw commandError(program, error);
      }
    },
  };
}

function commandError(program: string, error: unknown): unknown {
  if (error instanceof CommandTimeoutError || error instanceof HungPathError) {
    return new CommandError("timed-out", error.message);
  }
  if (!(error instanceof Error)) return error;
  const { cause } = error;
  const isAbsent = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
  if (!isAbsent) return new CommandError("failed", error.message);
  return new CommandError("not-found", `exec: "${program}": executable file not found in $PATH`);
}
