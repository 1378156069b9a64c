import type { Result } from "../lib/result.ts";
import type { MachineInfo, SystemInfo } from "../model/machine-info.ts";

/** Facts about the machine as a node; read on every call, throwing where that fails. */
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
