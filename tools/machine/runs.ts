// What runs on which virtual machine.
import type { Hardware } from "./virtual-machine.ts";

/** The runtime of the guest: the folders of its programs, before all others. */
const guests = {
  "containerd-1.7": [],
  "containerd-2": ["/opt/newer/usr/bin", "/opt/newer/usr/sbin"],
  crun: ["/opt/crun"],
} as const;

export interface MachineRun {
  readonly name: string;
  readonly programFolders: readonly string[];
  readonly hardware: Hardware;
  readonly runsDemo: boolean;
  /** Test files. */
  readonly files: readonly string[];
}

const hardware: Hardware = { cpus: 2, memoryMebibytes: 3072, numaNodes: 1, hasSwap: false };

const files = ["test/machine/slices.test.ts"];

/** The first is what `npm run machine` runs without arguments. */
export const runs: readonly MachineRun[] = Object.entries(guests).map(([name, programFolders]) => ({
  name,
  programFolders,
  hardware,
  runsDemo: true,
  files,
}));
