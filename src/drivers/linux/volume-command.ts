import { spawn } from "node:child_process";

const maxOutputBytes = 64 * 1024;

export interface VolumeCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** An open file that the program has as descriptor 3. */
  readonly inheritedFd?: number | undefined;
}

/** A program that did not end within its time; it may hang in the kernel and is left behind. */
export class CommandTimeoutError extends Error {}

/**
 * Runs a program and answers its output. A program that hangs in the kernel cannot be killed: it is not waited for
 * beyond its time.
 */
export function runVolumeCommand(command: VolumeCommand, signal: AbortSignal): Promise<string> {
  const { program, args, timeoutMs, inheritedFd } = command;
  const text = [program, ...args].join(" ");
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe", ...(inheritedFd === undefined ? [] : [inheritedFd])],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    });
    const output = collect(child.stdout);
    const errors = collect(child.stderr);
    const leave = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abandon);
    };
    const giveUp = (error: unknown): void => {
      leave();
      child.kill("SIGKILL");
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
      reject(error);
    };
    const abandon = (): void => giveUp(signal.reason);
    const timer = setTimeout(() => {
      giveUp(new CommandTimeoutError(`${text} did not end within ${timeoutMs / 1000} s`));
    }, timeoutMs);
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
