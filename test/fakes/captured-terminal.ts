import { PassThrough, Writable } from "node:stream";
import type { Screen, Terminal } from "../../src/cli/terminal.ts";

export interface CapturedTerminal extends Terminal {
  readonly stdin: PassThrough;
  stdoutText(): string;
  stderrText(): string;
}

/** A terminal whose output a test can read. The time stands still where `nowMs` is given. */
export function captureTerminal(
  options: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly nowMs?: number;
    readonly screen?: Screen;
  } = {},
): CapturedTerminal {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  const { environment = {}, nowMs, screen } = options;
  return {
    stdin: new PassThrough(),
    stdout: sink(stdout),
    stderr: sink(stderr),
    environment,
    nowMs: () => nowMs ?? Date.now(),
    screen,
    colours: false,
    out: (text) => void stdout.push(Buffer.from(text)),
    note: (line) => void stderr.push(Buffer.from(`${line}\n`)),
    stdoutText: () => Buffer.concat(stdout).toString(),
    stderrText: () => Buffer.concat(stderr).toString(),
  };
}

function sink(chunks: Buffer[]): Writable {
  return new Writable({
    write: (chunk: Buffer, _, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
}
