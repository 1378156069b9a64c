import { readFile } from "node:fs/promises";

const PROGRAM_INTERPRETER = 3;

/** The first of these files that is a program that needs no other file to run. */
export async function readStaticProgram(
  paths: readonly string[],
): Promise<{ readonly path: string; readonly data: Buffer } | undefined> {
  for (const path of paths) {
    const data = await readFile(path).catch(() => undefined);
    if (data !== undefined && isStaticProgram(data)) return { path, data };
  }
  return undefined;
}

/** Whether these are the bytes of a 64-bit little-endian ELF program without an interpreter. */
export function isStaticProgram(data: Buffer): boolean {
  if (data.length < 64 || data.readUInt32BE(0) !== 0x7f454c46) return false;
  if (data[4] !== 2 || data[5] !== 1) return false;
  const tableOffset = Number(data.readBigUInt64LE(32));
  const entryBytes = data.readUInt16LE(54);
  const entries = data.readUInt16LE(56);
  for (let index = 0; index < entries; index++) {
    const offset = tableOffset + index * entryBytes;
    if (offset + 4 > data.length) return false;
    if (data.readUInt32LE(offset) === PROGRAM_INTERPRETER) return false;
  }
  return true;
}
