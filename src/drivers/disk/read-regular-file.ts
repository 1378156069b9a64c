import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/**
 * The text of a regular file that an operator names; throws, also for a pipe or a device, which would keep the
 * only thread waiting or never end.
 */
export function readRegularFile(path: string, maxBytes: number): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const info = fstatSync(fd);
    // The reading of a folder fails by itself.
    if (!info.isFile() && !info.isDirectory()) throw new Error("it is not a regular file");
    return readAtMost(fd, maxBytes).toString("utf8");
  } finally {
    closeSync(fd);
  }
}

/** A file of the kernel's has no size before it is read. */
function readAtMost(fd: number, maxBytes: number): Buffer {
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    const part = Buffer.allocUnsafe(256 * 1024);
    const bytesRead = readSync(fd, part, 0, part.length, null);
    if (bytesRead === 0) return Buffer.concat(parts);
    length += bytesRead;
    if (length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    parts.push(part.subarray(0, bytesRead));
  }
}
