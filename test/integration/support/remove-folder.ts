import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { mountPointsBelow, parseMountInfo } from "../../../src/lib/mount-info.ts";
import { detachLoopDevices } from "./loop-devices.ts";

/** Removes a folder with its loop devices and all that is mounted in it: a kubelet's root folder stays a mount of its own. */
export async function removeFolder(folder: string): Promise<void> {
  const mounts = parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8"));
  for (const point of mountPointsBelow(mounts, folder)) execFileSync("umount", [point]);
  detachLoopDevices(folder);
  await rm(folder, { recursive: true, force: true });
}
