import { withExit } from "../../core/observe/exited-status.ts";
import { observePod, type ReadContainer } from "../../core/observe/observe-pod.ts";
import type { PodSandboxStatus } from "../../model/generated/cri.ts";
import {
  type PodUid,
  type RuntimeContainerId,
  rawContainerId,
  runtimeContainerId,
} from "../../model/ids.ts";
import { podNameLabel, podNamespaceLabel, podUidLabel } from "../../model/labels.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { isNotFound } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { ObservedPods } from "./observed-pods.ts";
import { type ListedPod, listLabelled } from "./runtime-listing.ts";
import { endReaderOf, type MessageFiles, readTerminationMessage } from "./termination-message.ts";

export interface ReadPodDeps {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  /** As it stands in container ids: "containerd". */
  readonly runtimeName: string;
  /** The feature ContainerStopSignals. */
  readonly hasStopSignals?: boolean | undefined;
  /** Undefined = termination messages are not read. */
  readonly messages?: MessageFiles | undefined;
  /** Has the resources that containers were last given. */
  readonly table?: Pick<PodTable, "get"> | undefined;
  /** How containers ended, where an event said so. */
  readonly observed?: Pick<ObservedPods, "exitOf"> | undefined;
}

/** What is known of a pod before it is read. */
export interface ReadHint {
  /** What the lists have of it, where they were just asked for. */
  readonly listed?: ListedPod | undefined;
  /** As it was last read: what there was then is asked about at once, while the lists say whether that is all. */
  readonly before?: ObservedPod | undefined;
}

/** Reads everything the runtime has of one pod. What vanishes while it is being read is left out. */
export async function readPod(
  deps: ReadPodDeps,
  uid: PodUid,
  signal: AbortSignal,
  { listed, before }: ReadHint = {},
): Promise<ObservedPod> {
  const sandboxStatus = once((id: string) => readSandbox(deps.runtime, id, signal));
  const containerStatus = once((id: RuntimeContainerId) => readContainer(deps, uid, id, signal));
  const listing = listed ?? listLabelled(deps.runtime, deps.clock, { [podUidLabel]: uid }, signal);
  for (const { id } of before?.sandboxes ?? []) sandboxStatus(id).catch(() => undefined);
  for (const { id } of before?.containers ?? []) {
    containerStatus(rawContainerId(id)).catch(() => undefined);
  }
  const { sandboxes, containers, listedAtMs } = await listing;
  const labels = { ...containers[0]?.labels, ...sandboxes[0]?.labels };
  const [sandboxStatuses, readContainers] = await Promise.all([
    Promise.all(sandboxes.map(({ id = "" }) => sandboxStatus(id))),
    Promise.all(
      containers.map(async ({ id = "", podSandboxId = "" }) => {
        const read = await containerStatus(runtimeContainerId(id));
        return read && { ...read, sandboxId: podSandboxId };
      }),
    ),
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

function once<Id extends string, T>(read: (id: Id) => Promise<T>): (id: Id) => Promise<T> {
  const reads = new Map<Id, Promise<T>>();
  return (id) => {
    const begun = reads.get(id) ?? read(id);
    reads.set(id, begun);
    return begun;
  };
}

async function readSandbox(
  runtime: ContainerRuntime,
  id: string,
  signal: AbortSignal,
): Promise<PodSandboxStatus | undefined> {
  return unlessGone(async () => (await runtime.podSandboxStatus(id, signal)).status);
}

async function readContainer(
  deps: ReadPodDeps,
  uid: PodUid,
  id: RuntimeContainerId,
  signal: AbortSignal,
): Promise<Omit<ReadContainer, "sandboxId"> | undefined> {
  return unlessGone(async () => {
    const answer = await deps.runtime.containerStatus(id, signal);
    if (answer.status === undefined) return undefined;
    const status = withExit(answer.status, deps.observed?.exitOf(uid, id));
    const terminationMessage =
      deps.messages === undefined
        ? ""
        : await readTerminationMessage(endReaderOf(deps.messages, uid, signal), status);
    const actuated = deps.table?.get(uid)?.actuated?.containers.get(status.metadata?.name ?? "");
    return { status, terminationMessage, actuated };
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
