import { planRotation } from "../../core/log/plan-rotation.ts";
import { errorText } from "../../lib/error-text.ts";
import { splitPath } from "../../lib/path.ts";
import { formatTime } from "../../lib/time.ts";
import type { RuntimeContainerId } from "../../model/ids.ts";
import {
  compressedName,
  plainName,
  rotatedName,
  temporaryName,
} from "../../model/log/rotated-logs.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { LogFiles } from "../../ports/log-files.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";

/** When container logs are rotated, and how much of them is kept. */
export interface LogRotationSettings {
  /** A log of at least this size is rotated; below zero none ever is. */
  readonly maxSizeBytes: number;
  /** With the log in use: at least two. */
  readonly maxFiles: number;
  readonly intervalMs: number;
  /** How many logs are rotated at once. */
  readonly workers: number;
}

export interface LogRotatorDeps {
  readonly runtime: Pick<ContainerRuntime, "containerStatus" | "reopenContainerLog">;
  readonly observed: Pick<ObservedPods, "runningContainers">;
  readonly files: LogFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: LogRotationSettings;
  /** Logs elsewhere are not the agent's. */
  readonly podLogsRoot: string;
}

/** One container's log, as the rotation needs it. */
export interface RotatedContainer {
  readonly containerId: RuntimeContainerId;
  readonly logPath: string;
}

/** Rotates the logs of running containers, again and again. */
export async function runLogRotator(deps: LogRotatorDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, settings } = deps;
  if (settings.maxSizeBytes < 0) return;
  const paths = new Map<RuntimeContainerId, string>();
  while (!signal.aborted) {
    await clock.sleep(settings.intervalMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await rotateLogs(deps, paths, signal);
    } catch (error) {
      if (!signal.aborted) log.warn("cannot look for full logs", { error: errorText(error) });
    }
  }
}

async function rotateLogs(
  deps: LogRotatorDeps,
  paths: Map<RuntimeContainerId, string>,
  signal: AbortSignal,
): Promise<void> {
  const ids = new Set(deps.observed.runningContainers());
  for (const id of paths.keys()) if (!ids.has(id)) paths.delete(id);
  const left = [...ids].values();
  const work = async (): Promise<void> => {
    for (const id of left) await rotateLog(deps, id, paths, signal);
  };
  await Promise.all(Array.from({ length: deps.settings.workers }, work));
}

async function rotateLog(
  deps: LogRotatorDeps,
  containerId: RuntimeContainerId,
  paths: Map<RuntimeContainerId, string>,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, files, log, settings, podLogsRoot } = deps;
  if (signal.aborted) return;
  try {
    const read = async () => (await runtime.containerStatus(containerId, signal)).status?.logPath;
    const logPath = paths.get(containerId) ?? (await read()) ?? "";
    paths.set(containerId, logPath);
    if (!logPath.startsWith(`${podLogsRoot}/`)) return;
    const size = await files.sizeBytes(logPath);
    if (size !== undefined && size < settings.maxSizeBytes) return;
    if (await isTakenNow(deps, logPath)) return;
    await rotateIfFull(deps, { containerId, logPath }, signal);
  } catch (error) {
    if (signal.aborted) return;
    log.warn("cannot rotate the log of a container", { containerId, error: errorText(error) });
  }
}

// Two logs rotated within one second would get one name, and the first would go: the next round has another.
async function isTakenNow({ files, clock }: LogRotatorDeps, logPath: string): Promise<boolean> {
  const { folder, name } = splitPath(logPath);
  const taken = rotatedName(name, formatTime(clock.nowMs()));
  return (await files.list(folder)).some((other) => plainName(other) === taken);
}

/** Rotates one container's log if it is large enough. Killed at any point, it has lost no line. */
export async function rotateIfFull(
  deps: Pick<LogRotatorDeps, "runtime" | "files" | "clock" | "settings">,
  { containerId, logPath }: RotatedContainer,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, files, clock, settings } = deps;
  let size = await files.sizeBytes(logPath);
  if (size === undefined) {
    // A rotation was cut short after it had moved the log away: the container still writes to that file.
    await runtime.reopenContainerLog(containerId, signal);
    size = await files.sizeBytes(logPath);
  }
  if (size === undefined || size < settings.maxSizeBytes) return;
  const { folder, name } = splitPath(logPath);
  const limits = { maxFiles: settings.maxFiles, nowMs: clock.nowMs() };
  const plan = planRotation(await files.list(folder), name, limits);
  for (const old of plan.remove) await files.remove(`${folder}/${old}`);
  for (const plain of plan.compress) await compressLog(files, `${folder}/${plain}`);
  const rotatedPath = `${folder}/${plan.rotateTo}`;
  await files.rename(logPath, rotatedPath);
  try {
    await runtime.reopenContainerLog(containerId, signal);
  } catch (error) {
    // Unless the runtime did open a new log and only its answer was lost.
    if ((await files.sizeBytes(logPath)) === undefined) await files.rename(rotatedPath, logPath);
    throw error;
  }
}

async function compressLog(files: LogFiles, path: string): Promise<void> {
  const beside = temporaryName(path);
  await files.compress(path, beside);
  await files.rename(beside, compressedName(path));
  await files.remove(path);
}
