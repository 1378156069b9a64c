/** What is left on a file system. */
export interface FileSystemUsage {
  readonly timeMs: number;
  /** Identifies the file system. */
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

/** A file system with its own device, and what was read from and written to that since the machine started. */
export interface DiskUsage {
  /** Such as /dev/sda1; a file system in memory is named after where it is mounted. */
  readonly device: string;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  /** In the order of /proc/diskstats behind the name; zeros for a file system in memory. */
  readonly counters: readonly number[];
}

/** What processes hold together. */
export interface ProcessUsage {
  readonly descriptors: number;
  readonly sockets: number;
  /** The first one's own limit. */
  readonly maxOpenFiles?: number | undefined;
}

/** Usage of the machine's disks, network and process table, beside the cgroups. */
export interface HostUsage {
  readonly bootTimeMs: number;
  /** Of the agent's own folders or the runtime's. Undefined when nothing is there or it does not answer in time. */
  fileSystem(path: string): Promise<FileSystemUsage | undefined>;
  /** What a file of the agent's own takes; undefined when it is not there. */
  file(path: string): Promise<TreeUsage | undefined>;
  /** The files directly in a folder, without what lies deeper; undefined when there is no such folder. */
  files(folder: string): Promise<TreeUsage | undefined>;
  /** Those that a process sees, or the machine's own; without loopback and the machine's ends of pods' interfaces. */
  interfaces(pid: number | undefined): Promise<readonly InterfaceUsage[] | undefined>;
  disks(): Promise<readonly DiskUsage[]>;
  processes(pids: readonly number[]): Promise<ProcessUsage>;
  tasks(): Promise<{ readonly max?: number | undefined; readonly running?: number | undefined }>;
}
