/** The files of the agent's data folder. Paths are absolute; no call follows a link in the last component. */
export interface HostFiles {
  ensureFolder(path: string, mode: number): Promise<void>;
  /** Written beside and renamed into place; the folder must exist. */
  writeFile(path: string, data: Uint8Array | string, mode: number): Promise<void>;
  /** As `writeFile`, for what need not outlast a crash of the machine: spares the disk a flush. */
  writeBriefly(path: string, data: Uint8Array | string, mode: number): Promise<void>;
  /**
   * Changes what a file says and keeps the file itself, for what is mounted into containers: they go on seeing the one that the
   * agent knows and measures. Makes it where it is missing.
   */
  overwrite(path: string, data: Uint8Array | string, mode: number): Promise<void>;
  /** At most the last `maxBytes` of a regular file; undefined when it does not exist. */
  readTail(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** A whole regular file; undefined when it does not exist. Rejects when it is larger than any file of the agent's. */
  readText(path: string): Promise<string | undefined>;
  /** The path with every link followed; undefined when nothing is there. */
  realPath(path: string): Promise<string | undefined>;
  /** Names in a folder; empty when it does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Replaces what is there. */
  symlink(target: string, path: string): Promise<void>;
  removeFile(path: string): Promise<void>;
  /** Removes a file or an empty folder; absent is fine. */
  removeEntry(path: string): Promise<void>;
  appendLine(path: string, line: string, mode: number): Promise<void>;
}
