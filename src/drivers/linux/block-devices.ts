import type { Stats } from "node:fs";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BlockDevices, LoopDevice } from "../../ports/block-devices.ts";
import { errorCode } from "./volume-error.ts";

const sysBlock = "/sys/block";

/** The block devices of this machine. */
export const blockDevices: BlockDevices = {
  entryAt: async (path) => {
    const info = await present(lstat(path));
    return info === undefined ? undefined : kindOf(info);
  },
  deviceNumber: async (path) => {
    const info = await present(stat(path));
    if (info === undefined || kindOf(info) !== "device") return undefined;
    return deviceNumberText(info.rdev);
  },
  deviceNodes: async (folder) => {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isBlockDevice() || entry.isCharacterDevice())
      .map(({ name }) => join(folder, name));
  },
  loopDevices: async () => {
    const names = (await readdir(sysBlock)).filter((name) => name.startsWith("loop")).toSorted();
    const devices: LoopDevice[] = [];
    for (const name of names) {
      // Only one that is in use has the file.
      const text = await present(readFile(join(sysBlock, name, "loop/backing_file"), "utf8"));
      if (text === undefined) continue;
      const backingFile = text
        .trim()
        .replace(/\(deleted\)$/, "")
        .trim();
      devices.push({ device: `/dev/${name}`, backingFile });
    }
    return devices;
  },
};

function kindOf(info: Stats): "device" | "link" | "folder" | "file" {
  if (info.isSymbolicLink()) return "link";
  if (info.isDirectory()) return "folder";
  return info.isBlockDevice() || info.isCharacterDevice() ? "device" : "file";
}

// As the kernel packs both into one number.
function deviceNumberText(rdev: number): string {
  const number = BigInt(rdev);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & 0xfffff000n);
  const minor = (number & 0xffn) | ((number >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

async function present<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ENXIO"].includes(errorCode(error))) return undefined;
    throw error;
  }
}
