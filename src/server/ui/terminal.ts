// A command in a container, with a terminal of its own, over a browser's WebSocket.

import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import { type CommandEnd, parseCommandEnd } from "../../model/command-end.ts";
import { SpdyConnection, type SpdyStream } from "../spdy/connection.ts";
import type { WebSocketConnection } from "../websocket/connection.ts";
import { type ExecTarget, openExec } from "./open-exec.ts";

/** What a shell prints before anything else, when it was asked which process it is. */
const maxIdBytes = 32;
/** How long the end of a terminal may take. */
const hangUpMs = 10_000;
const maxStatusBytes = 64 * 1024;
const maxLines = 1000;

const shells: ReadonlySet<string> = new Set(["sh", "ash", "bash", "dash", "ksh", "zsh"]);
/** Ctrl-C and Ctrl-D. */
const hangUpByKeys = Uint8Array.of(3, 4);

/** Runs until the command has ended, the browser has gone, or `signal` aborts; the command does not outlive any of these. */
export async function runTerminal(
  browser: WebSocketConnection,
  target: ExecTarget,
  signal: AbortSignal,
): Promise<void> {
  const [shell = ""] = target.command;
  const isShell = shells.has(shell.slice(shell.lastIndexOf("/") + 1));
  const command = isShell ? withId(shell, target.command) : target.command;
  try {
    const { connection, head } = await openExec(
      { ...target, command },
      { hasTerminal: true },
      signal,
    );
    using spdy = new SpdyConnection(connection, head);
    const session = await openSession(spdy, browser, new IdLine(isShell));
    const over = await session.run(signal);
    if (over === "gone") await hangUp(session, target, shell);
    else await sendEnd(browser, over);
  } catch (error) {
    await sendJson(browser, { error: errorText(error) });
  } finally {
    browser.close();
  }
}

interface TerminalSession {
  readonly id: IdLine;
  readonly input: SpdyStream;
  run(signal: AbortSignal): Promise<CommandEnd | "gone">;
}

async function openSession(
  spdy: SpdyConnection,
  browser: WebSocketConnection,
  id: IdLine,
): Promise<TerminalSession> {
  const status: Buffer[] = [];
  let statusBytes = 0;
  const error = await spdy.open({ streamType: "error" }, (data) => {
    statusBytes += data.length;
    if (statusBytes <= maxStatusBytes) status.push(data);
  });
  const input = await spdy.open({ streamType: "stdin" }, () => undefined);
  const output = await spdy.open({ streamType: "stdout" }, async (data) => {
    const shown = id.read(data);
    if (shown.length > 0) await browser.send(shown);
  });
  const sizes = await spdy.open({ streamType: "resize" }, () => undefined);
  const run = async (signal: AbortSignal): Promise<CommandEnd | "gone"> => {
    const aborted = new Promise<"gone">((resolve) => {
      signal.addEventListener("abort", () => resolve("gone"), { once: true });
      if (signal.aborted) resolve("gone");
    });
    const reading = browser.read(async (data, isText) => {
      if (!isText) {
        // What is typed earlier comes back before the shell's answer, which would not be known by its place then.
        await Promise.race([id.known, aborted]);
        return input.write(data);
      }
      const { columns, rows } = parseResize(data.toString());
      await sizes.write(Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
    });
    const ended = Promise.all([error.ended, output.ended]);
    return Promise.race([
      ended.then(() => parseCommandEnd(Buffer.concat(status).toString())),
      reading.then((): "gone" => "gone"),
      aborted,
    ]);
  };
  return { id, input, run };
}

/** The shell prints its number in its container, and then the command itself takes its place. */
function withId(program: string, command: readonly string[]): readonly string[] {
  return [program, "-c", 'echo $$; exec "$0" "$@"', ...command];
}

/** Takes the first line of the output, which is the shell's answer, apart from the rest. */
class IdLine {
  /** Resolves when the answer has come, or none is awaited. */
  readonly known: Promise<void>;
  #isAwaited: boolean;
  #noteKnown: () => void = () => undefined;
  #pending: Buffer = Buffer.alloc(0);
  /** The command's process, as its container numbers it. */
  value: string | undefined;

  constructor(isAwaited: boolean) {
    this.#isAwaited = isAwaited;
    this.known = new Promise((resolve) => {
      this.#noteKnown = resolve;
    });
    if (!isAwaited) this.#noteKnown();
  }

  /** What of it is to be shown. */
  read(data: Buffer): Buffer {
    if (!this.#isAwaited) return data;
    this.#pending = Buffer.concat([this.#pending, data]);
    const end = this.#pending.indexOf("\n");
    if (end < 0 && this.#pending.length <= maxIdBytes) return Buffer.alloc(0);
    this.#isAwaited = false;
    this.#noteKnown();
    const line = this.#pending.subarray(0, Math.max(end, 0)).toString().trim();
    const isId = /^\d{1,10}$/.test(line);
    if (isId) this.value = line;
    return isId ? this.#pending.subarray(end + 1) : this.#pending;
  }
}

/** Nothing that was started for the page runs on without it: a runtime leaves a command running whose terminal has gone. */
async function hangUp(
  { id, input }: TerminalSession,
  target: ExecTarget,
  program: string,
): Promise<void> {
  const signal = timeoutSignal(hangUpMs);
  if (id.value === undefined) {
    await input.write(hangUpByKeys);
    await input.finish();
    return;
  }
  // As when a line drops: the kernel passes it on to what runs in the foreground.
  const command = [program, "-c", "kill -HUP $0", id.value];
  const { connection, head } = await openExec(
    { ...target, command },
    { hasTerminal: false },
    signal,
  );
  using spdy = new SpdyConnection(connection, head);
  signal.addEventListener("abort", () => connection.destroy(), { once: true });
  const error = await spdy.open({ streamType: "error" }, () => undefined);
  const output = await spdy.open({ streamType: "stdout" }, () => undefined);
  await Promise.all([error.ended, output.ended]);
}

function sendEnd(browser: WebSocketConnection, end: CommandEnd): Promise<void> {
  if (end.kind === "failed") return sendJson(browser, { error: end.message });
  return sendJson(browser, { exit: { code: end.exitCode } });
}

function sendJson(browser: WebSocketConnection, message: object): Promise<void> {
  return browser.sendText(JSON.stringify(message));
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Throws for anything else: the browser's connection ends. */
function parseResize(text: string): Size {
  const { resize } = parseJsonText(text) as { readonly resize?: Partial<Size> };
  const { columns, rows } = resize ?? {};
  if (isLength(columns) && isLength(rows)) return { columns, rows };
  throw new Error(`resize: columns and rows have to be whole numbers from 1 to ${maxLines}`);
}

function isLength(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= maxLines;
}
