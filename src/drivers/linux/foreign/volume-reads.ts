import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { unlessAbsent } from "./open-entry.ts";
import { openSubPath } from "./subpath-walk.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** A regular file of a volume, by links inside the volume only; undefined when it is not a regular file or too large. */
export function readVolumeFile(folder: string, path: string, maxBytes: number): Buffer | undefined {
  using entry = openSubPath(folder, path, { makesFolders: false });
  const info = fstatSync(entry.fd);
  if (!info.isFile() || info.size > maxBytes) return undefined;
  const fd = openSync(entry.path, O_RDONLY | O_NONBLOCK);
  try {
    return readFrom(fd, 0, maxBytes);
  } finally {
    closeSync(fd);
  }
}

/** The last bytes of a regular file; undefined when it does not exist. */
export function readEnd(path: string, maxBytes: number): Buffer | undefined {
  const fd = unlessAbsent(() => openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (fd === undefined) return undefined;
  try {
    const info = fstatSync(fd);
    if (!info.isFile()) throw new Error(`${path} is not a regular file`);
    return readFrom(fd, Math.max(0, info.size - maxBytes), maxBytes);
  } finally {
    closeSync(fd);
  }
}

function readFrom(fd: number, start: number, maxBytes: number): Buffer {
  const buffer = Buffer.alloc(maxBytes);
  let filled = 0;
  while (filled < maxBytes) {
    const bytesRead = readSync(fd, buffer, filled, maxBytes - filled, start + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
