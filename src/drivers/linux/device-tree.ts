import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { compareText } from "../../lib/compare-text.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok } from "../../lib/result.ts";
import type { Commands } from "../../ports/commands.ts";
import type { DeviceTree } from "../../ports/device-tree.ts";

/** A scan or the deletion of a disk waits for the disk. */
const writeTimeoutMs = 60_000;

const maxLinks = 40;

/** The devices of this machine. The kernel answers reads from its memory; what may wait for hardware is written by a program of its own. */
export function linuxDeviceTree(commands: Commands): DeviceTree {
  return {
    list: async (folder) => {
      try {
        return (await readdir(folder)).toSorted(compareText);
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      }
    },
    readText: async (path) => {
      try {
        return await readFile(path, "utf8");
      } catch {
        return undefined;
      }
    },
    exists: async (path) => {
      try {
        await lstat(path);
        return true;
      } catch {
        return false;
      }
    },
    resolve: async (path) => {
      try {
        return ok(await realpath(path));
      } catch (error) {
        if (!isAbsent(error)) return err(errorText(error));
        return err(`lstat ${await endOfLinks(path)}: no such file or directory`);
      }
    },
    write: async (path, text, signal) => {
      try {
        // tee(1) would make a file that is missing.
        await lstat(path);
        const options = { timeoutMs: writeTimeoutMs, input: text };
        const { exitCode, output } = await commands.run(["tee", path], options, signal);
        return exitCode === 0 ? ok(undefined) : err(output.trim());
      } catch (error) {
        signal.throwIfAborted();
        if (isAbsent(error)) return err(`open ${path}: no such file or directory`);
        return err(errorText(error));
      }
    },
  };
}

/** Where a chain of links ends. */
async function endOfLinks(path: string): Promise<string> {
  let end = path;
  for (let links = 0; links < maxLinks; links++) {
    try {
      end = resolve(dirname(end), await readlink(end));
    } catch {
      return end;
    }
  }
  return end;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
