/** The log files of containers. Paths are absolute; no call follows a link in the last component. */
export interface LogFiles {
  /** Names in a folder; empty when it does not exist. */
  list(folder: string): Promise<readonly string[]>;
  /** Undefined when there is no such file. */
  sizeBytes(path: string): Promise<number | undefined>;
  /** Replaces what is there. */
  rename(from: string, to: string): Promise<void>;
  /** Absent is fine. */
  remove(path: string): Promise<void>;
  /** Writes `path` compressed to `beside`; resolves when it is safe on the disk, and leaves nothing when it fails. */
  compress(path: string, beside: string): Promise<void>;
}
