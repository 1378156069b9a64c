import { errorText } from "../../lib/error-text.ts";
import type { FileKind } from "../../ports/foreign-files.ts";
import { HungPathError, type HungPaths } from "./hung-paths.ts";
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
 * What lies at a path of the node. stat(1) looks: it starts faster than a helper, and every pod with a host path of some
 * type waits for it.
 */
export async function kindOfNodePath(
  path: string,
  hungPaths: HungPaths,
  signal: AbortSignal,
): Promise<FileKind | undefined> {
  const args = ["--dereference", "--format=%f", "--", path];
  try {
    const command = { program: "stat", args, timeoutMs, path };
    const run = (): Promise<string> => runVolumeCommand(command, hungPaths, signal);
    const mode = await hungPaths.inTurn(path, run, signal);
    return kinds.get(Number.parseInt(mode, 16) & formatBits) ?? "other";
  } catch (error) {
    if (error instanceof HungPathError) throw error;
    if (error instanceof CommandTimeoutError) {
      throw new Error(`the file system of ${path} does not answer (${errorText(error)})`, {
        cause: error,
      });
    }
    signal.throwIfAborted();
    return undefined;
  }
}
