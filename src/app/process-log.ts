import { createPinoLog, type PinoLogOptions } from "../drivers/log/pino-log.ts";
import type { AdjustableLog } from "../ports/log.ts";

/** The log of an agent's process. */
export function createProcessLog(
  level: PinoLogOptions["level"],
  human: boolean,
  write: (line: string) => void,
): AdjustableLog {
  return createPinoLog({ level, human, write });
}
