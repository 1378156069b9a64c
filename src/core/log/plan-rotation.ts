import { formatTime } from "../../lib/time.ts";
import { findRotatedLogs, isCompressed, rotatedName } from "../../model/log/rotated-logs.ts";

/** What to do with the files of one log, in this order. */
export interface RotationPlan {
  readonly remove: readonly string[];
  readonly compress: readonly string[];
  /** The name that the log itself gets; the runtime then opens a new one. */
  readonly rotateTo: string;
}

/** The log in use and the newest rotated one are never compressed: the runtime may still write them, and clients read them. */
const uncompressedFiles = 2;

/** Plans the rotation of a log among the files of its folder, of which at most `maxFiles` stay. */
export function planRotation(
  names: readonly string[],
  logName: string,
  limits: { readonly maxFiles: number; readonly nowMs: number },
): RotationPlan {
  const { inUse, unused } = findRotatedLogs(names, logName);
  const kept = Math.max(0, limits.maxFiles - uncompressedFiles);
  const excess = Math.max(0, inUse.length - kept);
  return {
    remove: [...unused, ...inUse.slice(0, excess)],
    compress: inUse.slice(excess).filter((name) => !isCompressed(name)),
    rotateTo: rotatedName(logName, formatTime(limits.nowMs)),
  };
}
