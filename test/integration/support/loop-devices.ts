import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** The loop devices whose files are in a folder; also of files that were removed since. */
export function loopDevicesOf(folder: string): readonly string[] {
  return readdirSync("/sys/block")
    .filter((name) => name.startsWith("loop") && backingFile(name).startsWith(`${folder}/`))
    .map((name) => `/dev/${name}`);
}

/** One that is still mounted somewhere goes with its last mount. */
export function detachLoopDevices(folder: string): void {
  for (const device of loopDevicesOf(folder)) execFileSync("losetup", ["--detach", device]);
}

function backingFile(name: string): string {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8");
  } catch {
    // Not in use, or not any more.
    return "";
  }
}
