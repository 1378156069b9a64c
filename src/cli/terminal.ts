import type { Readable, Writable } from "node:stream";

/** A terminal's keyboard and size, where stdin is one. */
export interface Screen {
  /** Every key is handed on as it is; the answer undoes it. */
  readonly enterRawMode: () => () => void;
  readonly size: () => ScreenSize | undefined;
  /** Calls back at every new size, until `signal` aborts. */
  readonly onResize: (listener: () => void, signal: AbortSignal) => void;
}

interface ScreenSize {
  readonly width: number;
  readonly height: number;
}

/** Where a command reads and writes. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly nowMs: () => number;
  readonly screen: Screen | undefined;
  /** Output goes to a person: colours are wanted. */
  readonly colours: boolean;
  /** Writes to stdout as it is. */
  out(text: string): void;
  /** Writes a line to stderr. */
  note(line: string): void;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, env } = process;
  // Node opens stdin and stderr when they are first asked for, which most commands never do.
  return {
    get stdin() {
      return process.stdin;
    },
    stdout,
    get stderr() {
      return process.stderr;
    },
    environment: env,
    nowMs: () => Date.now(),
    get screen() {
      return process.stdin.isTTY ? processScreen() : undefined;
    },
    colours: wantsColours(env, stdout.isTTY),
    out: (text) => void stdout.write(text),
    note: (line) => void process.stderr.write(`${line}\n`),
  };
}

function processScreen(): Screen {
  const { stdin, stdout } = process;
  return {
    enterRawMode: () => {
      const restore = (): void => void stdin.setRawMode(false);
      stdin.setRawMode(true);
      // Whatever ends the process, the user's shell must not be left without echo.
      process.once("exit", restore);
      return () => {
        process.off("exit", restore);
        restore();
      };
    },
    size: () => (stdout.isTTY ? { width: stdout.columns, height: stdout.rows } : undefined),
    onResize: (listener, signal) => {
      stdout.on("resize", listener);
      signal.addEventListener("abort", () => stdout.off("resize", listener), { once: true });
    },
  };
}

/** Only on a terminal, and never against NO_COLOR. */
export function wantsColours(
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  const { NO_COLOR, TERM } = environment;
  return isTerminal && (NO_COLOR ?? "") === "" && TERM !== "dumb";
}
