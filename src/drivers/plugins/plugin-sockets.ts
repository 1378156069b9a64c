import { watch } from "node:fs";
import { lstat, mkdir, opendir } from "node:fs/promises";
import { basename } from "node:path";
import type { FolderWatch, PluginEntry, PluginSockets } from "../../ports/plugin-sockets.ts";
import { connectPlugin } from "./registration-client.ts";

/** The kubelet's own. */
const folderMode = 0o755;
/** More than a folder of sockets ever has. */
const maxNames = 4096;

/** The plugin folders of this machine. */
export const pluginSockets: PluginSockets = {
  makeFolder,
  read: readEntry,
  list: listNames,
  watch: watchNames,
  connect: connectPlugin,
};

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: folderMode });
}

/** Links are not followed: what they lead to may hang, and the plugin could change it under the hand that looks. */
async function readEntry(path: string): Promise<PluginEntry | undefined> {
  try {
    const found = await lstat(path, { bigint: true });
    const { dev, ino, birthtimeNs, ctimeNs } = found;
    // An inode is soon used again. A file system that keeps no time of creation has that of the last change instead.
    const createdNs = birthtimeNs > 0n ? birthtimeNs : ctimeNs;
    const identity = `${dev}:${ino}:${createdNs}`;
    if (found.isDirectory()) return { kind: "folder", identity };
    return { kind: found.isSocket() ? "socket" : "other", identity };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function listNames(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      names.push(name);
      if (names.length >= maxNames) break;
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return names;
}

/** Node reports that an entry came or went, not which of both. */
function watchNames(folder: string, onChange: (name: string | undefined) => void): FolderWatch {
  const watcher = watch(folder, { persistent: false });
  watcher.on("change", (event, name) => {
    if (event !== "rename") return;
    const changed = name === null ? undefined : String(name);
    onChange(changed);
    // The end of the folder itself comes with its own name, as if it were an entry.
    if (changed === basename(folder)) onChange(undefined);
  });
  watcher.on("error", () => onChange(undefined));
  return { close: () => watcher.close() };
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}
