import { dirname, resolve } from "node:path/posix";
import { err, ok } from "../../src/lib/result.ts";
import type { BlockDevices } from "../../src/ports/block-devices.ts";
import type { DeviceTree } from "../../src/ports/device-tree.ts";
import type { MemoryTree } from "./memory-tree.ts";

/** The /dev and /sys of a machine in memory. */
export function memoryDevices(tree: MemoryTree): DeviceTree & BlockDevices {
  const endOfLinks = (path: string): string => {
    const target = tree.linkAt(path);
    if (target === undefined) return path;
    return endOfLinks(resolve(dirname(path), target));
  };
  const unused = (): never => {
    throw new Error("these vectors look for no raw devices");
  };
  return {
    entryAt: unused,
    deviceNumber: unused,
    deviceNodes: unused,
    loopDevices: unused,
    list: async (folder) => tree.list(folder),
    readText: async (path) => tree.read(path),
    exists: async (path) => tree.find(path) !== undefined || tree.linkAt(path) !== undefined,
    resolve: async (path) => {
      const real = tree.realPath(path);
      if (real !== undefined) return ok(real);
      return err(`lstat ${endOfLinks(path)}: no such file or directory`);
    },
    write: async (path, text) => {
      if (tree.read(path) === undefined) return err(`open ${path}: no such file or directory`);
      tree.write(path, text);
      return ok(undefined);
    },
  };
}
