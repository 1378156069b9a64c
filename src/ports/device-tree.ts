import type { Result } from "../lib/result.ts";

/** Devices as the kernel and udev show them below /dev and /sys. Paths are absolute. */
export interface DeviceTree {
  /** Names in a folder, sorted; undefined when it does not exist. Rejects when it cannot be read. */
  list(folder: string): Promise<readonly string[] | undefined>;
  /** Undefined when it cannot be read: a session or device may vanish at any time. */
  readText(path: string): Promise<string | undefined>;
  /** Whether something has this name; a link counts wherever it leads. */
  exists(path: string): Promise<boolean>;
  /** The path with every link followed; the error names the path at which nothing was found. */
  resolve(path: string): Promise<Result<string, string>>;
  /**
   * Writes to a file of the kernel that is there, such as one that scans a bus. The kernel may take its time: the write is given a time
   * limit and never blocks the agent.
   */
  write(path: string, text: string, signal: AbortSignal): Promise<Result<void, string>>;
}
