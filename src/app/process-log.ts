import { LineBuffer } from "../drivers/log/line-buffer.ts";
import { LogOutput, openNonBlocking } from "../drivers/log/log-output.ts";
import { createPinoLog, type PinoLogOptions } from "../drivers/log/pino-log.ts";
import type { AdjustableLog } from "../ports/log.ts";

/** How an agent's process logs. */
export interface ProcessLogOptions extends Pick<PinoLogOptions, "level" | "format"> {
  /** All but errors go to stdout, in blocks of so many bytes or when so much time is over; undefined = all goes to stderr. */
  readonly split?: { readonly bufferBytes: number; readonly flushMs: number } | undefined;
}

/** The log of an agent's process. */
export function createProcessLog({ level, format, split }: ProcessLogOptions): AdjustableLog {
  const onDropped = (lines: number): void => {
    log.warn("dropped log lines that were not read", { lines });
  };
  const errors = new LogOutput(openNonBlocking(process.stderr.fd), onDropped);
  const others =
    split === undefined
      ? errors
      : new LineBuffer(new LogOutput(openNonBlocking(process.stdout.fd), onDropped), split);
  // Also after an uncaught exception.
  process.once("exit", () => {
    others.flush();
    errors.flush();
  });
  const log = createPinoLog({
    level,
    format,
    write: (line, lineLevel) => (lineLevel === "error" ? errors : others).write(line),
  });
  return log;
}
