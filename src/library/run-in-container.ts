import { PassThrough, Readable, Writable } from "node:stream";
import type { Upgraded } from "../cli/agent-client.ts";
import { remoteCommandProtocol, runRemoteCommand } from "../cli/exec/remote-command.ts";
import { chooseContainer } from "../cli/pod-argument.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ExecOptions, ExecResult } from "./api.ts";
import { BerthError } from "./berth-error.ts";
import type { PodPlace } from "./wait-for-pod.ts";

/** All output is held in memory. */
const maxOutputBytes = 64 * 1024 * 1024;

export async function runInContainer(
  { client, namespace, name }: PodPlace,
  command: readonly string[],
  { container, stdin, signal }: ExecOptions,
): Promise<ExecResult> {
  if (command.length === 0) throw new BerthError("invalid-options", "exec: the command is empty");
  const tooMuch = new AbortController();
  const lifetime = AbortSignal.any([tooMuch.signal, ...(signal === undefined ? [] : [signal])]);
  const stdout = new Collected(() => tooMuch.abort());
  const stderr = new Collected(() => tooMuch.abort());
  const terminal = programTerminal(stdin, stdout, stderr);
  const pod = await client.readPod(namespace, name, lifetime);
  const query = {
    container: chooseContainer(pod, container, terminal),
    command,
    stdin: String(stdin !== undefined),
    stdout: "true",
    stderr: "true",
    tty: "false",
  };
  const connect = (): Promise<Upgraded> =>
    client.upgrade(pod, { what: "exec", query, protocol: remoteCommandProtocol }, lifetime);
  const options = { stdin: stdin !== undefined, tty: false };
  const exitCode = await runRemoteCommand(connect, options, terminal, lifetime);
  signal?.throwIfAborted();
  if (tooMuch.signal.aborted) {
    throw new BerthError("failed", `exec: the command wrote more than ${maxOutputBytes} bytes`);
  }
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

class Collected extends Writable {
  readonly #onTooMuch: () => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(onTooMuch: () => void) {
    super();
    this.#onTooMuch = onTooMuch;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxOutputBytes) this.#onTooMuch();
    else this.#chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** Where a command of a program reads and writes. */
function programTerminal(
  stdin: string | Uint8Array | undefined,
  stdout: Writable,
  stderr: Writable,
): Terminal {
  return {
    stdin: stdin === undefined ? new PassThrough() : Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    environment: {},
    nowMs: () => Date.now(),
    screen: undefined,
    colours: false,
    out: (text) => void stdout.write(text),
    // Which container was chosen of several does not belong to the output of the command.
    note: () => undefined,
  };
}
