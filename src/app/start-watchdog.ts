import { join } from "node:path";
import { ThreadWatchdog } from "../drivers/watchdog/watchdog.ts";
import { errorText } from "../lib/error-text.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { Log } from "../ports/log.ts";
import { programPart } from "./program-parts.ts";

const usualSeconds = 60;

/** Where the report of a frozen agent lies in the folder that the agent keeps for itself. */
export function freezeReportPath(folder: string): string {
  return join(folder, "frozen.json");
}

/** Ends this process when the agent stands still; `folder` is the agent's own. */
export function startWatchdog(folder: string, log: Log): ThreadWatchdog {
  return new ThreadWatchdog({
    entry: programPart("watchdog-thread"),
    reportPath: freezeReportPath(folder),
    limitMs: readSeconds(process.env["BERTH_WATCHDOG_SECONDS"]) * 1000,
    onFailure: (error) =>
      log.error("cannot start the watchdog: the agent continues without it", {
        error: errorText(error),
      }),
  });
}

function readSeconds(given: string | undefined): number {
  if (given === undefined || given === "") return usualSeconds;
  const seconds = Number(given);
  if (seconds > 0 && seconds <= 3600) return seconds;
  throw new SetupError(
    `BERTH_WATCHDOG_SECONDS: "${given}" is not a number of seconds`,
    "give a number from 1 to 3600, or unset it",
  );
}
