import { spawn } from "node:child_process";
import { startTimer } from "../../lib/timers.ts";
import type { HungPaths } from "./hung-paths.ts";

const maxOutputBytes = 64 * 1024;

export interface VolumeCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** The foreign path that the program reads: the caller has its turn there. */
  readonly path?: string | undefined;
}

/** A program that did not end within its time; it may hang in the kernel and is left behind. */
export class CommandTimeoutError extends Error {}

/**
 * Runs a program and answers its output. A program that hangs in the kernel cannot be killed: it is not waited for
 * beyond its time, and not started again while it is there.
 */
export function runVolumeCommand(
  command: VolumeCommand,
  hungPaths: HungPaths,
  signal: AbortSignal,
): Promise<string> {
  const { program, args, timeoutMs } = command;
  const text = [program, ...args].join(" ");
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    if (command.path === undefined) hungPaths.checkCommand(text);
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    });
    const output = collect(child.stdout);
    const errors = collect(child.stderr);
    const leave = (): void => {
      timer.stop();
      signal.removeEventListener("abort", abandon);
    };
    const giveUp = (error: unknown): void => {
      leave();
      hungPaths.abandon(child, command.path ?? text);
      reject(error);
    };
    const abandon = (): void => giveUp(signal.reason);
    const timer = startTimer(timeoutMs, () => {
      giveUp(new CommandTimeoutError(`${text} did not end within ${timeoutMs / 1000} s`));
    });
    signal.addEventListener("abort", abandon, { once: true });
    child.once("error", (error) => {
      leave();
      reject(new Error(`cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.once("close", (code, killedBy) => {
      leave();
      if (code === 0) resolve(output());
      else reject(new Error(`${text} failed: ${errors().trim() || `exit ${killedBy ?? code}`}`));
    });
  });
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxOutputBytes) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString();
}
