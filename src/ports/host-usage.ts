/** What is left on a file system. */
export interface FileSystemUsage {
  readonly timeMs: number;
  /** Tells file systems apart. */
  readonly device: string;
  readonly availableBytes: number;
  readonly capacityBytes: number;
  /** All that is taken, also what is kept for root. */
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface TreeUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** One network interface's counters since it came up. */
export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** What the machine's disks, network and process table tell beside the cgroups. */
export interface HostUsage {
  readonly bootTimeMs: number;
  /** Undefined when nothing is there or it does not answer in time. */
  fileSystem(path: string): Promise<FileSystemUsage | undefined>;
  /**
   * What a tree takes on its own file system, a file with several names once. Undefined when it is not there. Rejects
   * when `signal` aborts.
   */
  tree(path: string, signal: AbortSignal): Promise<TreeUsage | undefined>;
  /** The files directly in a folder, without what lies deeper; undefined when there is no such folder. */
  files(folder: string): Promise<TreeUsage | undefined>;
  /** Those that a process sees, or the machine's own; without loopback and the machine's ends of pods' interfaces. */
  interfaces(pid: number | undefined): Promise<readonly InterfaceUsage[] | undefined>;
  tasks(): Promise<{ readonly max?: number | undefined; readonly running?: number | undefined }>;
}
