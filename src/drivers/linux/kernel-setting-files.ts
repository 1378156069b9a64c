import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The kernel's settings as files, by the names that sysctl has for them. */
export interface KernelSettingFiles {
  pathOf(name: string): string;
  read(name: string): Promise<string>;
  write(name: string, value: number): Promise<void>;
}

/** Those below `root`, which in tests may be a copy. */
export function kernelSettingFiles(root = "/proc/sys"): KernelSettingFiles {
  const pathOf = (name: string): string => join(root, ...name.split("."));
  return {
    pathOf,
    read: (name) => readFile(pathOf(name), "utf8"),
    write: (name, value) => writeFile(pathOf(name), `${value}\n`),
  };
}
