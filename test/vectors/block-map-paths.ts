// The map paths of block devices, with bind mounts and loop devices of this machine.
import { execFileSync } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { blockDevices } from "../../src/drivers/linux/block-devices.ts";
import { linuxCommands } from "../../src/drivers/linux/commands.ts";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { HungPaths } from "../../src/drivers/linux/hung-paths.ts";
import { linuxMounts } from "../../src/drivers/linux/mounts.ts";
import {
  type BlockMapDeps,
  findGlobalMapPath,
  mapBlockDevice,
  mapDevice,
  removeMapPath,
  unmapBlockDevice,
  unmapDevice,
} from "../../src/engine/volumes/map-block-device.ts";
import { errorText } from "../../src/lib/error-text.ts";
import type { Result } from "../../src/lib/result.ts";
import { podUid } from "../../src/model/ids.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";

export interface MapPathsInput {
  readonly kind: "mapPaths";
  readonly globalMapPath: string;
  readonly podVolumeMapPath: string;
  readonly volumeMapName: string;
  readonly podUID: string;
  /** "type path" entries that are there before. */
  readonly existing?: readonly string[];
  readonly mapSteps: readonly MapStep[];
}

interface MapStep {
  readonly op: string;
  readonly device?: string;
  readonly path?: string;
  readonly linkName?: string;
  readonly bindMount?: boolean;
  readonly podUID?: string;
}

const never = new AbortController().signal;
const shownDevice = "DEVICE";

export async function runMapPaths(input: MapPathsInput): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), "berth-block-"));
  const root = join(folder, "root");
  const image = join(folder, "image");
  await mkdir(root);
  await writeFile(image, Buffer.alloc(1024 * 1024));
  const device = execFileSync("losetup", ["-f", "--show", image], { encoding: "utf8" }).trim();
  try {
    for (const entry of input.existing ?? []) await makeExisting(root, entry);
    const world = { root, device, input };
    const steps: unknown[] = [];
    for (const step of input.mapSteps) {
      const answer = await runStep(world, step);
      const after = { tree: await listTree(root, ""), loopDevicesOn: await loopDevicesOn(root) };
      steps.push(shown(world, { ...answer, ...after }));
    }
    return { steps };
  } finally {
    await removeAll(root);
    execFileSync("losetup", ["-d", device]);
    await rm(folder, { recursive: true });
  }
}

interface MapWorld {
  readonly root: string;
  readonly device: string;
  readonly input: MapPathsInput;
}

const hungPaths = new HungPaths(Date.now);
const deps: BlockMapDeps = {
  devices: blockDevices,
  files: hostFiles,
  foreignFiles: testForeignFiles(hungPaths),
  mounts: linuxMounts(hungPaths, linuxCommands(hungPaths)),
  commands: linuxCommands(hungPaths),
};

async function runStep({ root, device, input }: MapWorld, step: MapStep): Promise<object> {
  const { path = "", linkName = "", bindMount: isBind = false } = step;
  const isRelative = path === "" || !path.startsWith("/");
  const fullPath = isRelative ? path : join(root, path);
  const map = {
    podUid: podUid(step.podUID ?? input.podUID),
    globalMapPath: join(root, input.globalMapPath),
    podMapPath: join(root, input.podVolumeMapPath),
    name: input.volumeMapName,
  };
  const devicePath = step.device === shownDevice ? device : (step.device ?? "");
  const entry = { mapPath: fullPath, name: linkName, isBind };
  switch (step.op) {
    case "map":
      return problemOf(await mapBlockDevice(deps, map, devicePath, never));
    case "unmap":
      return problemOf(await unmapBlockDevice(deps, map, never));
    case "mapDevice":
      return problemOf(await mapDevice(deps, entry, devicePath, never));
    case "unmapDevice":
      return problemOf(await unmapDevice(deps, entry, never));
    case "removeMapPath":
      return problemOf(await removeMapPath(deps, fullPath, never));
    case "isSymlink":
      return { exists: (await blockDevices.entryAt(fullPath)) === "link" };
    case "refs":
      return blockDevices.deviceNodes(fullPath).then(
        (refs) => ({ refs }),
        (error: unknown) => ({ refs: [], error: errorText(error) }),
      );
    case "findGlobal": {
      const podLink = join(map.podMapPath, map.name);
      const place = { pluginFolder: fullPath, podLink, podUid: map.podUid };
      const found = await findGlobalMapPath(deps, place);
      return { globalMapPathUUID: found.ok ? (found.value ?? "") : "", ...problemOf(found) };
    }
    default:
      throw new Error(`unknown operation ${step.op}`);
  }
}

function problemOf(result: Result<unknown, string>): object {
  return result.ok ? {} : { error: result.error.replace(/(Output: ).*$/s, "$1<output of mount>") };
}

function shown({ root, device }: MapWorld, answer: object): unknown {
  const text = JSON.stringify(answer).replaceAll(root, "/ROOT");
  return JSON.parse(text.replaceAll(new RegExp(`${device}(?![0-9])`, "g"), shownDevice));
}

async function makeExisting(root: string, entry: string): Promise<void> {
  const [type = "", path = ""] = entry.split(" ");
  const fullPath = join(root, path);
  await mkdir(dirname(fullPath), { recursive: true });
  if (type === "symlink") await symlink("/dev/stale", fullPath);
  else if (type === "file") await writeFile(fullPath, "");
  else {
    await mkdir(fullPath);
    if (type === "fulldir") await writeFile(join(fullPath, "x"), "");
  }
}

async function listTree(folder: string, prefix: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const path = join(folder, name);
    const place = `${prefix}/${name}`;
    const info = await lstat(path);
    if (info.isSymbolicLink()) lines.push(`symlink ${place} -> ${await readlink(path)}`);
    else if (info.isDirectory()) lines.push(`dir ${place}`, ...(await listTree(path, place)));
    else lines.push(`${info.isBlockDevice() ? "device" : "file"} ${place}`);
  }
  return lines;
}

async function loopDevicesOn(root: string): Promise<string[]> {
  const loops = await blockDevices.loopDevices();
  return loops
    .filter(({ backingFile }) => backingFile.startsWith(`${root}/`))
    .map(({ backingFile }) => backingFile.slice(root.length))
    .toSorted();
}

/** What a failed step left. */
async function removeAll(root: string): Promise<void> {
  for (const { device, backingFile } of await blockDevices.loopDevices()) {
    if (backingFile.startsWith(`${root}/`)) execFileSync("losetup", ["-d", device]);
  }
  for (const { mountPoint } of await deps.mounts.listBelow(root)) {
    execFileSync("umount", [mountPoint]);
  }
}
