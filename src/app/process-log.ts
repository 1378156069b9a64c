import { LogOutput, openStderr } from "../drivers/log/log-output.ts";
import { createPinoLog, type PinoLogOptions } from "../drivers/log/pino-log.ts";
import type { AdjustableLog } from "../ports/log.ts";

/** The log of an agent's process, on its stderr. */
export function createProcessLog(level: PinoLogOptions["level"], human: boolean): AdjustableLog {
  const output = new LogOutput(openStderr(), (lines) => {
    log.warn("dropped log lines that were not read", { lines });
  });
  // Also after an uncaught exception.
  process.once("exit", () => output.flush());
  const log = createPinoLog({ level, human, write: (line) => output.write(line) });
  return log;
}
