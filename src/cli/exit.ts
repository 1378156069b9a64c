/** What the exit code of every command means; documented in docs/cli.md. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  agentUnreachable: 3,
  notFound: 4,
} as const;

/** Ends the command with a message for the user. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CliError {
  return new CliError(message, exitCodes.usage);
}

/** 128 + SIGPIPE, as a shell has it of programs that this signal ends. */
const brokenPipeExitCode = 141;

/** The exit code of a command that cannot write to its stdout. */
export function outputExitCode(error: Error, [command]: readonly string[]): number {
  if (!("code" in error) || error.code !== "EPIPE") return exitCodes.failed;
  // A reader that has seen enough (`berth get pods | head -1`) is not a failure; pods that were not run to their end are one.
  return command === "run" ? brokenPipeExitCode : exitCodes.ok;
}
