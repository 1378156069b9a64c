import { withExit } from "../core/observe/exited-status.ts";
import { observePod, type ReadContainer } from "../core/observe/observe-pod.ts";
import type { Container, PodSandboxStatus } from "../model/generated/cri.ts";
import type { ResourceRequirements } from "../model/generated/kubernetes.ts";
import { podNameLabel, podNamespaceLabel, podUidLabel } from "../model/labels.ts";
import type { ContainerExit, ObservedPod } from "../model/observed.ts";
import { isNotFound } from "../model/runtime-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { ListedPod } from "./runtime-listing.ts";
import { readTerminationMessage } from "./termination-message.ts";

export interface ReadPodDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly clock: Clock;
  /** As it stands in container ids: "containerd". */
  readonly runtimeName: string;
  /** The feature ContainerStopSignals. */
  readonly hasStopSignals?: boolean | undefined;
  /** The resources that a container was last given. */
  readonly givenResources: (uid: string, containerName: string) => ResourceRequirements | undefined;
  /** How that container ended, where the runtime has told of it. */
  readonly exitOf?: (containerId: string) => ContainerExit | undefined;
}

/**
 * Reads everything the runtime has of one pod. What vanishes while it is being read is left out. `listed` saves asking
 * what there is of it.
 */
export async function readPod(
  deps: ReadPodDeps,
  uid: string,
  signal: AbortSignal,
  listed?: ListedPod | undefined,
): Promise<ObservedPod> {
  const { runtime } = deps;
  const { sandboxes, containers, listedAtMs } = listed ?? (await listPod(deps, uid, signal));
  const labels = { ...containers[0]?.labels, ...sandboxes[0]?.labels };
  const [sandboxStatuses, readContainers] = await Promise.all([
    Promise.all(sandboxes.map(({ id = "" }) => sandboxStatus(runtime, id, signal))),
    Promise.all(containers.map((container) => readContainer(deps, uid, container, signal))),
  ]);
  return observePod({
    uid,
    name: labels[podNameLabel] ?? "",
    namespace: labels[podNamespaceLabel] ?? "",
    runtimeName: deps.runtimeName,
    hasStopSignals: deps.hasStopSignals,
    sandboxes: sandboxStatuses.filter((status) => status !== undefined),
    containers: readContainers.filter((container) => container !== undefined),
    observedAtMs: listedAtMs,
  });
}

async function listPod(
  { runtime, clock }: ReadPodDeps,
  uid: string,
  signal: AbortSignal,
): Promise<ListedPod> {
  const listedAtMs = clock.nowMs();
  const labelSelector = { [podUidLabel]: uid };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandboxes({ labelSelector }, signal),
    runtime.listContainers({ labelSelector }, signal),
  ]);
  return { sandboxes, containers, listedAtMs };
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
  uid: string,
  { id = "", podSandboxId = "" }: Container,
  signal: AbortSignal,
): Promise<ReadContainer | undefined> {
  return unlessGone(async () => {
    const answer = await deps.runtime.containerStatus(id, signal);
    if (answer.status === undefined) return undefined;
    const status = withExit(answer.status, deps.exitOf?.(id));
    const terminationMessage = await readTerminationMessage(deps.files, status);
    const actuated = deps.givenResources(uid, status.metadata?.name ?? "");
    return { status, sandboxId: podSandboxId, terminationMessage, actuated };
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
