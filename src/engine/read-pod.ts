import { observePod, type ReadContainer } from "../core/observe/observe-pod.ts";
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  type PodSandboxStatus,
} from "../model/generated/cri.ts";
import {
  containerTerminationMessagePathAnnotation,
  containerTerminationMessagePolicyAnnotation,
  podNameLabel,
  podNamespaceLabel,
  podUidLabel,
} from "../model/labels.ts";
import type { ObservedPod } from "../model/observed.ts";
import { isNotFound } from "../model/runtime-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import type { HostFiles } from "../ports/host-files.ts";

const longestMessageBytes = 4096;
const longestLogMessageBytes = 2048;
const longestLogMessageLines = 80;

export interface ReadPodDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly clock: Clock;
  /** As it stands in container ids: "containerd". */
  readonly runtimeName: string;
}

/** Reads everything the runtime has of one pod. What vanishes while it is being read is left out. */
export async function readPod(
  deps: ReadPodDeps,
  uid: string,
  signal: AbortSignal,
): Promise<ObservedPod> {
  const { runtime, clock } = deps;
  const observedAtMs = clock.nowMs();
  const labelSelector = { [podUidLabel]: uid };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandboxes({ labelSelector }, signal),
    runtime.listContainers({ labelSelector }, signal),
  ]);
  const labels = { ...containers[0]?.labels, ...sandboxes[0]?.labels };
  const [sandboxStatuses, readContainers] = await Promise.all([
    Promise.all(sandboxes.map(({ id = "" }) => sandboxStatus(runtime, id, signal))),
    Promise.all(containers.map((container) => readContainer(deps, container, signal))),
  ]);
  return observePod({
    uid,
    name: labels[podNameLabel] ?? "",
    namespace: labels[podNamespaceLabel] ?? "",
    runtimeName: deps.runtimeName,
    sandboxes: sandboxStatuses.filter((status) => status !== undefined),
    containers: readContainers.filter((container) => container !== undefined),
    observedAtMs,
  });
}

async function sandboxStatus(
  runtime: ContainerRuntime,
  id: string,
  signal: AbortSignal,
): Promise<PodSandboxStatus | undefined> {
  return unlessGone(async () => (await runtime.podSandboxStatus(id, signal)).status);
}

async function readContainer(
  deps: ReadPodDeps,
  { id = "", podSandboxId = "" }: Container,
  signal: AbortSignal,
): Promise<ReadContainer | undefined> {
  return unlessGone(async () => {
    const { status } = await deps.runtime.containerStatus(id, signal);
    if (status === undefined) return undefined;
    const terminationMessage = await readTerminationMessage(deps.files, status);
    return { status, sandboxId: podSandboxId, terminationMessage };
  });
}

async function unlessGone<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The container's last words: its termination message file, or the end of its log where it asks for that. */
async function readTerminationMessage(
  files: HostFiles,
  status: ContainerStatus,
): Promise<string | undefined> {
  if (status.state !== ContainerState.CONTAINER_EXITED) return undefined;
  const annotations = status.annotations ?? {};
  const path = annotations[containerTerminationMessagePathAnnotation];
  const mount = status.mounts?.find(({ containerPath }) => containerPath === path);
  const bytes =
    mount?.hostPath === undefined
      ? undefined
      : await files.readTail(mount.hostPath, longestMessageBytes);
  const message = bytes === undefined ? "" : new TextDecoder().decode(bytes);
  const fallsBack =
    annotations[containerTerminationMessagePolicyAnnotation] === "FallbackToLogsOnError" &&
    ((status.exitCode ?? 0) !== 0 || status.reason === "ContainerCannotRun");
  if (message !== "" || !fallsBack || status.logPath === undefined) return message;
  const log = await files.readTail(status.logPath, 2 * longestLogMessageBytes);
  return log === undefined ? "" : endOfLog(new TextDecoder().decode(log));
}

/** The text of the last lines of a CRI log: time, stream and tag are cut off each line. */
function endOfLog(log: string): string {
  const lines = log.split("\n").filter((line) => line !== "");
  const texts = lines.slice(-longestLogMessageLines).map((line) => {
    const text = /^\S+ (?:stdout|stderr) [FP](?::\S*)? (.*)$/.exec(line);
    return text?.[1] ?? "";
  });
  return texts
    .map((text) => `${text}\n`)
    .join("")
    .slice(-longestLogMessageBytes);
}
