import type { Flags, FlagValues } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

/** What a command is run with, once its arguments were read. */
export interface Invocation<F extends Flags> {
  readonly flags: FlagValues<F>;
  readonly positionals: readonly string[];
  readonly rest: readonly string[] | undefined;
  readonly terminal: Terminal;
  /** Aborts at Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

interface CommandText {
  /** What follows "berth" in the usage line, such as "logs POD [flags]". */
  readonly usage: string;
  readonly summary: string;
  /** More than the summary says; may be empty. */
  readonly details: string;
  readonly examples: readonly string[];
}

export interface Command extends CommandText {
  readonly name: string;
  readonly flags: Flags;
  /** Takes what follows the command's name; answers the exit code. */
  readonly run: (
    args: readonly string[],
    terminal: Terminal,
    signal: AbortSignal,
  ) => Promise<number>;
}

export interface CommandSpec<F extends Flags> extends CommandText {
  readonly name: string;
  readonly flags: F;
  readonly run: (invocation: Invocation<F>) => Promise<number> | number;
}
