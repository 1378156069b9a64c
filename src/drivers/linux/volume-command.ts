import { spawn } from "node:child_process";
import { startTimer } from "../../lib/timers.ts";
import type { HungPaths } from "./hung-paths.ts";

const maxOutputBytes = 64 * 1024;

export interface VolumeCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  readonly input?: string | undefined;
  /** The foreign path that the program reads: the caller has its turn there. */
  readonly path?: string | undefined;
  /** Stands for the command in errors, where its arguments may be secret. */
  readonly shown?: string | undefined;
}

export interface ProgramEnd {
  /** -1 when a signal ended it. */
  readonly exitCode: number;
  readonly killedBy: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order of arrival. */
  readonly output: string;
}

/** A program that did not end within its time; it may hang in the kernel and is left behind. */
export class CommandTimeoutError extends Error {}

/** Runs a program and answers what it wrote to its standard output; rejects with its own words when it failed. */
export async function runVolumeCommand(
  command: VolumeCommand,
  hungPaths: HungPaths,
  signal: AbortSignal,
): Promise<string> {
  const { exitCode, killedBy, stdout, stderr } = await runProgram(command, hungPaths, signal);
  if (exitCode === 0) return stdout;
  const reason = stderr.trim() || `exit ${killedBy ?? exitCode}`;
  throw new Error(`${commandText(command)} failed: ${reason}`);
}

/**
 * Runs a program to its end, however it ends. One that hangs in the kernel cannot be killed: it is not waited for beyond its
 * time, and not started again while it is there.
 */
export function runProgram(
  command: VolumeCommand,
  hungPaths: HungPaths,
  signal: AbortSignal,
): Promise<ProgramEnd> {
  const { program, args, timeoutMs, input } = command;
  const text = commandText(command);
  const shown = command.shown ?? text;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    if (command.path === undefined) hungPaths.checkCommand(text, shown);
    const child = spawn(program, args, {
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    });
    // A program that does not read its input may end before all of it is written.
    child.stdin?.on("error", () => undefined).end(input);
    const all: Buffer[] = [];
    const stdout = collect(child.stdout, all);
    const stderr = collect(child.stderr, all);
    const leave = (): void => {
      timer.stop();
      signal.removeEventListener("abort", abandon);
    };
    const giveUp = (error: unknown): void => {
      leave();
      hungPaths.abandon(child, command.path ?? text, command.path ?? shown);
      reject(error);
    };
    const abandon = (): void => giveUp(signal.reason);
    const timer = startTimer(timeoutMs, () => {
      giveUp(new CommandTimeoutError(`${shown} did not end within ${timeoutMs / 1000} s`));
    });
    signal.addEventListener("abort", abandon, { once: true });
    child.once("error", (error) => {
      leave();
      reject(new Error(`cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.once("close", (code, killedBy) => {
      leave();
      resolve({
        exitCode: code ?? -1,
        killedBy: killedBy ?? undefined,
        stdout: stdout(),
        stderr: stderr(),
        output: Buffer.concat(all).toString(),
      });
    });
  });
}

function commandText({ program, args }: VolumeCommand): string {
  return [program, ...args].join(" ");
}

function collect(stream: NodeJS.ReadableStream | null, all: Buffer[]): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxOutputBytes) return;
    chunks.push(chunk);
    all.push(chunk);
  });
  return () => Buffer.concat(chunks).toString();
}
