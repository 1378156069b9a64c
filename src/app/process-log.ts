import { createPinoLog, type PinoLogOptions } from "../drivers/log/pino-log.ts";
import type { Log } from "../ports/log.ts";

/** The log of an agent's process. */
export function createProcessLog(
  level: PinoLogOptions["level"],
  human: boolean,
  write: (line: string) => void,
): Log {
  return createPinoLog({ level, human, write });
}
