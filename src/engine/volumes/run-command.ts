import { CommandError } from "../../lib/command-error.ts";
import type { Commands } from "../../ports/commands.ts";

/** How a program of the node ended. */
export interface CommandOutcome {
  /** Undefined when it could not be run to its end. */
  readonly exitCode: number | undefined;
  /** Of both streams. */
  readonly output: string;
  /** Why it failed, in Go's words; undefined when it succeeded. */
  readonly failure: string | undefined;
}

const shortMs = 60_000;

/** Runs a program to its end; one that does not exist or hangs is a failure like others. */
export async function runCommand(
  commands: Commands,
  argv: readonly string[],
  signal: AbortSignal,
  timeoutMs: number = shortMs,
): Promise<CommandOutcome> {
  try {
    const { exitCode, output } = await commands.run(argv, { timeoutMs }, signal);
    const failure = exitCode === 0 ? undefined : `exit status ${exitCode}`;
    return { exitCode, output, failure };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const isAbsent = error.reason === "not-found";
    const failure = isAbsent ? "executable file not found in $PATH" : error.message;
    return { exitCode: undefined, output: "", failure };
  }
}
