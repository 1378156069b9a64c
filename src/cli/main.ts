// The command line: finds the command, runs it, and turns what went wrong into a message and an exit code.
import { nearestName } from "../lib/nearest-name.ts";
import type { Command } from "./command.ts";
import { commandTable } from "./command-table.ts";
import { CliError, exitCodes, usageError } from "./exit.ts";
import { commandHelp, overviewHelp } from "./help.ts";
import { painter } from "./output/colour.ts";
import type { Terminal } from "./terminal.ts";

/** Runs one command line; answers the exit code. */
export async function runCli(
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await dispatch(args, terminal, signal);
  } catch (error) {
    if (signal.aborted) return exitCodes.failed;
    const paint = painter(terminal.colours);
    const message = error instanceof Error ? error.message : String(error);
    terminal.note(`${paint("red", "berth:")} ${message}`);
    const isUsage = error instanceof CliError && error.exitCode === exitCodes.usage;
    const known = commandTable.some(({ name }) => name === args[0]);
    if (isUsage) terminal.note(`berth ${known ? `${args[0]} ` : ""}--help shows how it is used`);
    return error instanceof CliError ? error.exitCode : exitCodes.failed;
  }
}

async function dispatch(
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const [name, ...rest] = args;
  switch (name) {
    case undefined:
    case "help":
    case "--help":
    case "-h":
      terminal.out(rest[0] === undefined ? overviewHelp(commandTable) : commandHelp(find(rest[0])));
      return exitCodes.ok;
    case "--version":
      return find("version").run(rest, terminal, signal);
    default:
      return find(name).run(rest, terminal, signal);
  }
}

function find(name: string): Command {
  const command = commandTable.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const near = nearestName(
    name,
    commandTable.map((candidate) => candidate.name),
  );
  throw usageError(
    `unknown command "${name}"${near === undefined ? "" : ` (did you mean ${near}?)`}`,
  );
}
