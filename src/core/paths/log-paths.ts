// Where container logs lie. Wire format: log collectors and a kubelet taking over find them by these names.

import { joinPath } from "../../lib/path.ts";
import { type PodUid, podUid } from "../../model/ids.ts";

interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
}

/** The folder in which cluster log collectors look for container logs. */
export const legacyContainerLogsDirectory = "/var/log/containers";

const legacyLogSuffix = ".log";
const longestFileName = 255;
const largestInt64 = 9223372036854775807n;

/** The folder of all logs of a pod. */
export function podLogsDirectory(podLogsRoot: string, pod: PodName): string {
  return joinPath(podLogsRoot, `${pod.namespace}_${pod.name}_${pod.uid}`);
}

/** The folder of all logs of one container of a pod. */
export function containerLogsDirectory(
  podLogsRoot: string,
  pod: PodName,
  containerName: string,
): string {
  return joinPath(podLogsDirectory(podLogsRoot, pod), containerName);
}

/** The log file of one run of a container, relative to the pod's log folder. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return joinPath(containerName, `${restartCount}.log`);
}

/** The UID in the name of a pod's log folder; folders of very old kubelets are named after the UID alone. */
export function podUidOfLogsDirectory(directoryName: string): PodUid {
  return podUid(directoryName.slice(directoryName.lastIndexOf("_") + 1));
}

/** The symlink by which cluster log collectors find the log of a container. */
export function legacyLogSymlink(
  pod: { readonly namespace: string; readonly name: string },
  containerName: string,
  containerId: string,
): string {
  const name = `${pod.name}_${pod.namespace}_${containerName}-${containerId}`;
  const shortened = name.slice(0, longestFileName - legacyLogSuffix.length);
  return joinPath(legacyContainerLogsDirectory, shortened + legacyLogSuffix);
}

/**
 * The restart count after the newest log file found: a runtime that lost its state in a reboot
 * must not make a container write into an old log.
 */
export function nextRestartCountByLogs(fileNames: readonly string[]): number {
  let next = 0n;
  for (const fileName of fileNames) {
    const digits = /^(\d+)\.log/.exec(fileName)?.[1];
    if (digits === undefined) continue;
    const count = BigInt(digits);
    if (count < largestInt64 && count + 1n > next) next = count + 1n;
  }
  return Number(next);
}
