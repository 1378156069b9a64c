import { constants, mkdir, open } from "node:fs/promises";
import { errorText } from "../../lib/error-text.ts";
import type { FileKind } from "../../ports/volume-files.ts";
import { CommandTimeoutError, runVolumeCommand } from "./volume-command.ts";

const timeoutMs = 10_000;

const formatBits = 0o170000;

const kinds: ReadonlyMap<number, FileKind> = new Map([
  [0o040000, "directory"],
  [0o100000, "file"],
  [0o140000, "socket"],
  [0o020000, "char-device"],
  [0o060000, "block-device"],
]);

/**
 * What lies at a path of the node. Another program looks, because the path may lie on a file system that never
 * answers.
 */
export async function kindOfNodePath(
  path: string,
  signal: AbortSignal,
): Promise<FileKind | undefined> {
  const command = {
    program: "stat",
    args: ["--dereference", "--format=%f", "--", path],
    timeoutMs,
  };
  try {
    const mode = Number.parseInt(await runVolumeCommand(command, signal), 16);
    return kinds.get(mode & formatBits) ?? "other";
  } catch (error) {
    if (error instanceof CommandTimeoutError) {
      throw new Error(`the file system of ${path} does not answer (${errorText(error)})`, {
        cause: error,
      });
    }
    signal.throwIfAborted();
    return undefined;
  }
}

export async function createNodeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o755 });
}

export async function createNodeFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_CREAT, 0o644);
  await file.close();
}
