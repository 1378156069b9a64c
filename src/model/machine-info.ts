/** The machine's resources, as its node reports them. */
export interface MachineInfo {
  readonly cpuCount: number;
  readonly memoryBytes: bigint;
  readonly swapBytes: bigint;
  readonly hugePages: readonly HugePages[];
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
}

export interface HugePages {
  readonly pageSizeKb: number;
  readonly count: number;
}

/** What runs the machine. */
export interface SystemInfo {
  readonly kernelVersion: string;
  readonly osImage: string;
}
