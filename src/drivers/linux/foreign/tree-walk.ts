import { type Dir, opendirSync, readFileSync, readlinkSync } from "node:fs";
import { linesWithPath, mountPointsBelow, parseMountInfo } from "../../../lib/mount-info.ts";
import { type ByteName, bytePath, mountId, type OpenEntry, openFolder } from "./open-entry.ts";

/** Reports progress: cheap, and called for every entry. */
export type OnProgress = () => void;

/** Folders nested deeper than this are put off, so that few are open at once. */
const maxDepth = 128;

/** Folders that are put off stay open; what is below any further one is left out. */
const maxPutOff = 512;

interface Frame extends Disposable {
  readonly folder: OpenEntry;
  readonly names: Dir;
  /** As the mount table names it. */
  readonly path: ByteName;
  readonly depth: number;
}

/**
 * Goes through all that lies below an open folder, one name at a time: memory does not grow with the number of files.
 * `visit` answers whether to go into an entry. Mount points are neither visited nor touched.
 */
export function walkBelow(
  top: OpenEntry,
  visit: (folder: OpenEntry, name: ByteName) => boolean,
  onProgress: OnProgress,
): void {
  const mount = mountId(top);
  const path = readlinkSync(top.path, "latin1");
  const mountPoints = new Set(readMountPointsAt(path));
  using stack = new DisposableFrames();
  // The caller closes it.
  stack.push(newFrame({ ...top, [Symbol.dispose]: () => undefined }, path, 0));
  for (let frame = stack.next(); frame !== undefined; frame = stack.next()) {
    const { folder, names, path, depth } = frame;
    const name = names.readSync()?.name;
    if (name === undefined) {
      stack.leave();
      continue;
    }
    onProgress();
    const below = `${path}/${name}`;
    if (mountPoints.size > 0 && mountPoints.has(below)) continue;
    if (!visit(folder, name)) continue;
    const opened = openUnlessGone(folder, name);
    if (opened === undefined) continue;
    // A mount that appeared since.
    if (mountId(opened) !== mount) opened[Symbol.dispose]();
    else if (depth < maxDepth) stack.push(newFrame(opened, below, depth + 1));
    else stack.putOff(opened, below);
  }
}

/** The folders that are being read, innermost last, and those whose turn comes when these are done. */
class DisposableFrames implements Disposable {
  readonly #frames: Frame[] = [];
  readonly #putOff: (readonly [OpenEntry, ByteName])[] = [];

  push(frame: Frame): void {
    this.#frames.push(frame);
  }

  putOff(folder: OpenEntry, path: ByteName): void {
    if (this.#putOff.length < maxPutOff) this.#putOff.push([folder, path]);
    else folder[Symbol.dispose]();
  }

  next(): Frame | undefined {
    if (this.#frames.length === 0) {
      const deeper = this.#putOff.pop();
      if (deeper !== undefined) this.push(newFrame(...deeper, 0));
    }
    return this.#frames.at(-1);
  }

  leave(): void {
    this.#frames.pop()?.[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    while (this.#frames.length > 0) this.leave();
    for (const [folder] of this.#putOff) folder[Symbol.dispose]();
  }
}

function newFrame(folder: OpenEntry, path: ByteName, depth: number): Frame {
  const names = readNames(folder);
  return {
    folder,
    names,
    path,
    depth,
    [Symbol.dispose]: () => {
      names.closeSync();
      folder[Symbol.dispose]();
    },
  };
}

/** The names in a folder, read as they are asked for. */
export function readNames(folder: OpenEntry): Dir {
  return opendirSync(folder.path, { encoding: "latin1", bufferSize: 256 });
}

/** The mount points at or below a path, from the kernel's table: none of them is touched. */
export function readMountPointsAt(path: ByteName): readonly ByteName[] {
  const table = readFileSync("/proc/self/mountinfo", "latin1");
  return mountPointsBelow(parseMountInfo(linesWithPath(table, path)), path);
}

/** A container deletes while we look, or puts a link in the place of a folder. */
function openUnlessGone(folder: OpenEntry, name: ByteName): OpenEntry | undefined {
  try {
    return openFolder(bytePath(folder, name));
  } catch {
    return undefined;
  }
}
