import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../volume-error.ts";
import { type OpenEntry, unlessAbsent } from "./open-entry.ts";
import { openSubPath } from "./subpath-walk.ts";
import { changeOwnership, type TreeOwnership } from "./tree-ownership.ts";
import { removeTree } from "./tree-removal.ts";
import { type MeasuredTree, measureTree } from "./tree-usage.ts";
import type { OnProgress } from "./tree-walk.ts";
import { readEnd, readVolumeFile } from "./volume-reads.ts";

/** What the helper process does when it is asked to, one at a time. Arguments and answers are JSON. */
export interface Operations {
  groupOf(path: string): number | null;
  isDeviceHeld(path: string): boolean;
  realPath(path: string): string | null;
  makeFolder(path: string): void;
  makeFile(path: string): void;
  /** Opens it and keeps it open until `closeSubPath`. Answers where: a path that leads to the open file itself. */
  openSubPath(volumePath: string, subPath: string): string;
  closeSubPath(): void;
  /** Whether the path leads to the file that is open. */
  isOpenSubPath(path: string): boolean;
  /** Makes a file or a folder, as what is open is one, on which that can be bound. */
  makeMountPoint(target: string): void;
  /** In base64. */
  readFile(folder: string, path: string, maxBytes: number): string | null;
  readEnd(path: string, maxBytes: number): string | null;
  changeOwnership(folder: string, ownership: TreeOwnership): void;
  measure(path: string, by: "files" | "file-system"): MeasuredTree | null;
  removeTree(path: string): void;
}

export function newOperations(onProgress: OnProgress): Operations {
  let opened: OpenEntry | undefined;
  const closeSubPath = (): void => {
    opened?.[Symbol.dispose]();
    opened = undefined;
  };
  const subPath = (): OpenEntry => {
    if (opened === undefined) throw new Error("no sub path is open");
    return opened;
  };
  return {
    groupOf: (path) => unlessUnseen(() => statSync(path).gid),
    isDeviceHeld,
    realPath: (path) => unlessUnseen(() => realpathSync.native(path)),
    makeFolder: (path) => void mkdirSync(path, { recursive: true, mode: 0o755 }),
    makeFile: (path) => makeFile(path, 0, 0o644),
    openSubPath: (volumePath, path) => {
      closeSubPath();
      opened = openSubPath(volumePath, path, { makesFolders: true });
      return `/proc/${process.pid}/fd/${opened.fd}`;
    },
    closeSubPath,
    isOpenSubPath: (path) => {
      const wanted = fstatSync(subPath().fd, { bigint: true });
      const bound = statSync(path, { bigint: true });
      return wanted.dev === bound.dev && wanted.ino === bound.ino;
    },
    makeMountPoint: (target) =>
      makeMountPoint(target, fstatSync(subPath().fd).isDirectory(), onProgress),
    readFile: (folder, path, maxBytes) =>
      readVolumeFile(folder, path, maxBytes)?.toString("base64") ?? null,
    readEnd: (path, maxBytes) => readEnd(path, maxBytes)?.toString("base64") ?? null,
    changeOwnership: (folder, ownership) => changeOwnership(folder, ownership, onProgress),
    measure: (path, by) => measureTree(path, by, onProgress) ?? null,
    removeTree: (path) => removeTree(path, onProgress),
  };
}

/** Whatever keeps it from being seen: absent, a file above it, or a server that has gone. */
function unlessUnseen<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}

// Of a block device, exclusively means: unless it is mounted, swapped to, or held by another device.
function isDeviceHeld(path: string): boolean {
  if (unlessUnseen(() => statSync(path))?.isBlockDevice() !== true) return false;
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_EXCL | constants.O_NONBLOCK));
    return false;
  } catch (error) {
    if (errorCode(error) === "EBUSY") return true;
    throw error;
  }
}

function makeMountPoint(target: string, isFolder: boolean, onProgress: OnProgress): void {
  mkdirSync(dirname(target), { recursive: true, mode: 0o750 });
  const present = unlessAbsent(() => lstatSync(target));
  if (present !== undefined) {
    if (present.isDirectory() === isFolder && !present.isSymbolicLink()) return;
    removeTree(target, onProgress);
  }
  // A file can be the mount point of anything but a folder.
  if (isFolder) mkdirSync(target, 0o750);
  else makeFile(target, constants.O_EXCL, 0o640);
}

function makeFile(path: string, flags: number, mode: number): void {
  closeSync(openSync(path, constants.O_RDONLY | constants.O_CREAT | flags, mode));
}
