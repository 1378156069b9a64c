// Runs a command in a container over an upgraded connection: protocol v4.channel.k8s.io, one stream per purpose.
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { openSpdy } from "../../app/open-spdy.ts";
import { parseCommandEnd } from "../../model/command-end.ts";
import type { Upgraded } from "../agent-client.ts";
import { CliError } from "../exit.ts";
import type { Screen, Terminal } from "../terminal.ts";

export const remoteCommandProtocol = "v4.channel.k8s.io";

type SpdyClient = ReturnType<typeof openSpdy>;
type SpdyStream = Awaited<ReturnType<SpdyClient["open"]>>;

export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** What a shell answers for a command ended by Ctrl-C. */
const interruptedExitCode = 130;

/** Answers the command's own exit code. */
export async function runRemoteCommand(
  upgrade: () => Promise<Upgraded>,
  { stdin, tty }: RemoteCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  // Loaded before there is a connection: nothing of what comes over it may be missed.
  const { openSpdy } = await import("../../app/open-spdy.ts");
  const { connection, head } = await upgrade();
  using spdy = openSpdy(connection, head);
  signal.addEventListener("abort", () => spdy[Symbol.dispose](), { once: true });
  const status: Buffer[] = [];
  const error = await open(spdy, "error", (data) => void status.push(data));
  const input = stdin ? await open(spdy, "stdin", ignore) : undefined;
  const output = [await open(spdy, "stdout", (data) => copyTo(terminal.stdout, data))];
  if (!tty) output.push(await open(spdy, "stderr", (data) => copyTo(terminal.stderr, data)));
  const over = new AbortController();
  const screen = tty ? terminal.screen : undefined;
  if (tty && screen === undefined && stdin) {
    terminal.note("Unable to use a TTY - input is not a terminal or the right kind of file");
  }
  if (tty) sendSizes(await open(spdy, "resize", ignore), screen, over.signal);
  const restore = input === undefined ? undefined : screen?.enterRawMode();
  try {
    if (input !== undefined) copyFrom(terminal.stdin, input, over.signal);
    await Promise.all([error, ...output].map((stream) => stream.ended));
  } finally {
    restore?.();
    over.abort();
  }
  return signal.aborted ? interruptedExitCode : exitCodeOf(Buffer.concat(status).toString());
}

function open(
  spdy: SpdyClient,
  streamType: string,
  receive: (data: Buffer) => Promise<void> | void,
): Promise<SpdyStream> {
  return spdy.open({ streamType }, receive);
}

function ignore(): void {}

async function copyTo(target: Writable, data: Buffer): Promise<void> {
  if (!target.write(data)) await once(target, "drain");
}

/** Passes on what is typed or piped in, and its end. */
function copyFrom(source: Terminal["stdin"], target: SpdyStream, signal: AbortSignal): void {
  let written: Promise<void> = Promise.resolve();
  const passOn = async (data: Buffer): Promise<void> => {
    source.pause();
    await target.write(data);
    if (!signal.aborted) source.resume();
  };
  const onData = (data: Buffer): void => {
    written = passOn(data);
  };
  // The end is announced as soon as nothing is left to read, not when it was passed on.
  const onEnd = (): void => void written.then(() => target.finish());
  source.on("data", onData);
  source.once("end", onEnd);
  signal.addEventListener(
    "abort",
    () => {
      source.off("data", onData);
      source.off("end", onEnd);
      source.pause();
    },
    { once: true },
  );
}

function sendSizes(stream: SpdyStream, screen: Screen | undefined, signal: AbortSignal): void {
  const send = (): void => {
    const size = screen?.size();
    // A terminal that does not know its size says nothing useful.
    if (size === undefined || size.width === 0 || size.height === 0) return;
    void stream.write(Buffer.from(JSON.stringify({ Width: size.width, Height: size.height })));
  };
  send();
  screen?.onResize(send, signal);
}

function exitCodeOf(text: string): number {
  const end = parseCommandEnd(text);
  if (end.kind === "failed") throw new CliError(end.message);
  return end.exitCode;
}
