import { lstatSync } from "node:fs";
import { constants, open, readdir, rename, rm } from "node:fs/promises";
import { createGzip } from "node:zlib";
import type { LogFiles } from "../../ports/log-files.ts";

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** The log files on this machine. */
export const logFiles: LogFiles = {
  list: (folder) => unlessAbsent(readdir(folder), []),
  // Asked for each container every few seconds: another thread would cost ten times the look (docs/adr/0013).
  sizeBytes: async (path) => lstatSync(path, { throwIfNoEntry: false })?.size,
  rename,
  remove: (path) => rm(path, { force: true }),
  compress,
};

async function compress(path: string, beside: string): Promise<void> {
  const source = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const info = await source.stat();
    if (!info.isFile()) throw new Error(`${path} is not a regular file`);
    const mode = info.mode & 0o777;
    const target = await open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
    try {
      const bytes = source.createReadStream({ autoClose: false });
      const gzip = createGzip();
      bytes.on("error", (error) => gzip.destroy(error));
      for await (const chunk of bytes.pipe(gzip)) await target.writeFile(chunk);
      await target.datasync();
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function unlessAbsent<T, Absent>(action: Promise<T>, absent: Absent): Promise<T | Absent> {
  try {
    return await action;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return absent;
    throw error;
  }
}
