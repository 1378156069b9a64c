interface CommandOptions {
  readonly timeoutMs: number;
  /** What the program reads from its standard input; nothing when undefined. */
  readonly input?: string | undefined;
}

interface CommandEnd {
  /** -1 when a signal ended it. */
  readonly exitCode: number;
  /** What it wrote to both streams, in the order of arrival; the beginning when that is very long. */
  readonly output: string;
}

/** Programs of the node, by argument array: no shell reads them. */
export interface Commands {
  /**
   * Runs a program to its end. Rejects with a `CommandError` when it does not exist or did not end within its time: one that
   * hangs in the kernel is left behind, and the same one is not started again while it is there. Arguments may be secret:
   * no error shows them.
   */
  run(argv: readonly string[], options: CommandOptions, signal: AbortSignal): Promise<CommandEnd>;
}
