/** What a simulated process does: when it ends by itself, what it writes, and what a stop signal makes of it. */
export interface SimProgram {
  /** Undefined = it ends only when it is stopped or killed. */
  readonly endsAfterMs?: number | undefined;
  readonly exitCode: number;
  /** Why it ended by itself, unless that follows from the exit code. */
  readonly reason?: "OOMKilled" | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly onStop: "ignore" | { readonly afterMs: number; readonly exitCode: number };
}

export const untilStopped: SimProgram = {
  exitCode: 0,
  stdout: "",
  stderr: "",
  // 128 + SIGTERM: the process does not handle the signal.
  onStop: { afterMs: 0, exitCode: 143 },
};

/**
 * The program behind a command line: `exit CODE`, `sleep SECONDS`, `print OUT ERR CODE`, `serve [SECONDS]` (ends
 * well, that many seconds after the signal), `stubborn` (ends only when killed). Any other runs until stopped.
 */
export function simProgram([name, ...args]: readonly string[]): SimProgram {
  switch (name) {
    case "exit":
      return { ...untilStopped, endsAfterMs: 0, exitCode: Number(args[0]) };
    case "sleep":
      return { ...untilStopped, endsAfterMs: Number(args[0]) * 1000 };
    case "print": {
      const [stdout = "", stderr = "", exitCode = "0"] = args;
      return { ...untilStopped, endsAfterMs: 0, stdout, stderr, exitCode: Number(exitCode) };
    }
    case "serve":
      return { ...untilStopped, onStop: { afterMs: Number(args[0] ?? 0) * 1000, exitCode: 0 } };
    case "stubborn":
      return { ...untilStopped, onStop: "ignore" };
    default:
      return untilStopped;
  }
}
