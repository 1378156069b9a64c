import { errorText } from "../../lib/error-text.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { FileKind, ForeignFiles } from "../../ports/foreign-files.ts";
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

/** A read has a time limit of its own, independent of its callers. */
const never = new AbortController().signal;

/**
 * What lies at a path of the node. stat(1) looks: it starts faster than a helper, and every pod with a host path of some
 * type waits for it. A burst of pods with the same path waits for one look.
 */
export function newKindOf(hungPaths: HungPaths): ForeignFiles["kindOf"] {
  const looks = new Map<string, Promise<FileKind | undefined>>();
  return (path, signal) => {
    const look =
      looks.get(path) ?? kindOfNodePath(path, hungPaths).finally(() => looks.delete(path));
    looks.set(path, look);
    return untilAborted(look, signal);
  };
}

async function kindOfNodePath(path: string, hungPaths: HungPaths): Promise<FileKind | undefined> {
  const args = ["--dereference", "--format=%f", "--", path];
  const command = { program: "stat", args, timeoutMs, path };
  try {
    const run = (): Promise<string> => runVolumeCommand(command, hungPaths, never);
    const mode = await hungPaths.inTurn(path, run, never);
    return kinds.get(Number.parseInt(mode, 16) & formatBits) ?? "other";
  } catch (error) {
    if (error instanceof HungPathError) throw error;
    if (error instanceof CommandTimeoutError) {
      throw new Error(`the file system of ${path} does not answer (${errorText(error)})`, {
        cause: error,
      });
    }
    return undefined;
  }
}
