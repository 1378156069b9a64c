// What runs on which virtual machine.
import type { Hardware } from "./virtual-machine.ts";

/** Folders of the guest's programs, before all others: they choose its runtime. */
const newerPrograms = ["/opt/newer/usr/bin", "/opt/newer/usr/sbin"];
const crunPrograms = ["/opt/crun"];

export interface MachineRun {
  readonly name: string;
  readonly programFolders: readonly string[];
  readonly hardware: Hardware;
  readonly runsDemo: boolean;
  /** Test files. */
  readonly files: readonly string[];
}

const hardware: Hardware = { cpus: 2, memoryMebibytes: 3072, numaNodes: 1, hasSwap: false };

const cgroupTests = ["test/machine/slices.test.ts"];

/** The first is what `npm run machine` runs without arguments. */
export const runs: readonly MachineRun[] = [
  {
    name: "containerd-1.7",
    programFolders: [],
    hardware,
    runsDemo: true,
    files: cgroupTests,
  },
  {
    name: "containerd-2",
    programFolders: newerPrograms,
    hardware,
    runsDemo: true,
    files: [...cgroupTests, "test/machine/newer-runtime.test.ts"],
  },
  { name: "crun", programFolders: crunPrograms, hardware, runsDemo: true, files: cgroupTests },
  {
    name: "services",
    programFolders: newerPrograms,
    hardware,
    runsDemo: false,
    files: ["test/machine/shutdown.test.ts", "test/machine/nfs.test.ts"],
  },
];
