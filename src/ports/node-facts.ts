import type { Result } from "../lib/result.ts";
import type { MachineInfo, SystemInfo } from "../model/machine-info.ts";

/** What the machine tells of itself as a node; read anew each time, and throwing where it cannot be. */
export interface NodeFacts {
  readMachine(): MachineInfo;
  readSystem(): SystemInfo;
  /** The addresses of all its interfaces, in canonical form. */
  listIps(): readonly string[];
  /** What the name service says of a name; nothing when it does not know it. */
  lookUp(name: string): Promise<readonly string[]>;
  /** The machine's address on a default route, of this family where there is one; or why there is none. */
  defaultIp(family: 4 | 6): Result<string, string>;
}
