// Which dead containers, sandboxes and log folders go. The runtime's own lists are the input.

import {
  type Container,
  ContainerState,
  type PodSandbox,
  PodSandboxState,
} from "../../model/generated/cri.ts";
import {
  type PodUid,
  podUid,
  type RuntimeContainerId,
  runtimeContainerId,
} from "../../model/ids.ts";
import { podUidLabel } from "../../model/labels.ts";
import { podUidOfLogsDirectory } from "../paths/log-paths.ts";

/** Why something of a pod goes that was deleted or evicted, and has ended. */
export const goneReason = "its pod is gone for good";

/** A negative number means no bound. */
export interface ContainerGcPolicy {
  readonly minAgeMs: number;
  /** Dead runs kept of one container. */
  readonly maxPerContainer: number;
  /** Dead containers kept on the node. */
  readonly maxContainers: number;
}

/** What the workers know of the pods whose remains are found. */
export interface RemovablePods {
  /** The pod is gone: nothing of it may stay. */
  readonly isContentRemovable: (podUid: PodUid) => boolean;
  /** The pod has ended for good, though it still exists. */
  readonly isRuntimeRemovable: (podUid: PodUid) => boolean;
  /** The pod is gone, and its logs are not removed with its other remains. */
  readonly areLogsRemovable: (podUid: PodUid) => boolean;
}

export interface GcScope {
  readonly allSourcesReady: boolean;
  /** Takes the containers of ended pods too, to make room. */
  readonly evictNonDeletedPods: boolean;
}

/** A container to remove; one in an unknown state may still run, so it is stopped first. */
export interface ContainerRemoval {
  readonly id: RuntimeContainerId;
  readonly name: string;
  readonly stopFirst: boolean;
  readonly because: string;
}

/** A sandbox to stop and remove. */
export interface SandboxRemoval {
  readonly id: string;
  readonly name: string;
  readonly because: string;
}

interface DeadContainer extends Omit<ContainerRemoval, "because"> {
  readonly createdAt: bigint;
}

/** The dead containers to remove, in order. */
export function planContainerGc(
  containers: readonly Container[],
  pods: RemovablePods,
  {
    policy,
    nowMs,
    ...scope
  }: GcScope & { readonly policy: ContainerGcPolicy; readonly nowMs: number },
): ContainerRemoval[] {
  const removed: ContainerRemoval[] = [];
  const remove: Remove = (dead, because) => {
    for (const { id, name, stopFirst } of dead) removed.push({ id, name, stopFirst, because });
  };
  const groups = groupByContainer(containers, nowMs - policy.minAgeMs);
  let kept: (readonly DeadContainer[])[] = [];
  for (const { podUid, dead } of groups.values()) {
    const gone = scope.allSourcesReady ? whyGone(podUid, pods, scope) : undefined;
    if (gone === undefined) kept.push(dead);
    else remove(dead.toReversed(), gone);
  }
  const { maxPerContainer, maxContainers } = policy;
  if (maxPerContainer >= 0) {
    const because = `of one container ${maxPerContainer} ended runs are kept, and this is an older one`;
    kept = kept.map((dead) => keepNewest(dead, maxPerContainer, (old) => remove(old, because)));
  }
  keepOnNode(kept, maxContainers, remove);
  return removed;
}

/** The sandboxes to stop and remove: not ready, without containers, and not the newest of a pod that exists. */
export function planSandboxGc(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
  pods: RemovablePods,
  scope: Pick<GcScope, "evictNonDeletedPods">,
): SandboxRemoval[] {
  const used = new Set(containers.map(({ podSandboxId }) => podSandboxId));
  const byPod = new Map<PodUid, PodSandbox[]>();
  for (const sandbox of sandboxes) {
    const uid = podUid(sandbox.metadata?.uid ?? "");
    byPod.set(uid, [...(byPod.get(uid) ?? []), sandbox]);
  }
  return [...byPod].flatMap(([uid, ofPod]) => {
    const gone = whyGone(uid, pods, scope);
    const because = gone ?? "it is stopped and empty, and its pod has a newer one";
    return ofPod
      .toSorted(newestFirst)
      .slice(gone === undefined ? 1 : 0)
      .toReversed()
      .filter(({ state, id }) => state === PodSandboxState.SANDBOX_NOTREADY && !used.has(id))
      .map(({ id = "", metadata }) => {
        const name = `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
        return { id, name, because };
      });
  });
}

/** The log folders of pods that are gone. To be asked only once all sources are ready. */
export function planLogsGc(
  directoryNames: readonly string[],
  pods: Pick<RemovablePods, "areLogsRemovable">,
): string[] {
  return directoryNames.filter((name) => pods.areLogsRemovable(podUidOfLogsDirectory(name)));
}

type Remove = (dead: readonly DeadContainer[], because: string) => void;

interface ContainerGroup {
  readonly podUid: PodUid;
  readonly dead: DeadContainer[];
}

/** The containers that do not run and are old enough, by pod and name. */
function groupByContainer(
  containers: readonly Container[],
  newestMs: number,
): ReadonlyMap<string, ContainerGroup> {
  const groups = new Map<string, ContainerGroup>();
  for (const container of containers) {
    const { createdAt = 0n, state = ContainerState.CONTAINER_CREATED } = container;
    if (state === ContainerState.CONTAINER_RUNNING) continue;
    if (createdAt > BigInt(Math.floor(newestMs)) * 1_000_000n) continue;
    const uid = podUid(container.labels?.[podUidLabel] ?? "");
    const name = container.metadata?.name ?? "";
    const key = `${uid}/${name}`;
    const group = groups.get(key) ?? { podUid: uid, dead: [] };
    const stopFirst = state === ContainerState.CONTAINER_UNKNOWN;
    group.dead.push({ id: runtimeContainerId(container.id ?? ""), name, stopFirst, createdAt });
    groups.set(key, group);
  }
  return groups;
}

function keepOnNode(
  groups: readonly (readonly DeadContainer[])[],
  maxContainers: number,
  remove: Remove,
): void {
  const count = groups.reduce((sum, dead) => sum + dead.length, 0);
  if (maxContainers < 0 || count <= maxContainers) return;
  const because = `${maxContainers} ended containers are kept on the node, and this is an older one`;
  const removeOld = (old: readonly DeadContainer[]): void => remove(old, because);
  const fairShare = Math.max(Math.floor(maxContainers / groups.length), 1);
  const rest = groups.flatMap((dead) => keepNewest(dead, fairShare, removeOld));
  keepNewest(rest, maxContainers, removeOld);
}

function keepNewest(
  dead: readonly DeadContainer[],
  keep: number,
  removeOld: (old: readonly DeadContainer[]) => void,
): readonly DeadContainer[] {
  if (dead.length <= keep) return dead;
  const sorted = dead.toSorted(newestFirst);
  removeOld(sorted.slice(keep).toReversed());
  return sorted.slice(0, keep);
}

function whyGone(
  uid: PodUid,
  pods: RemovablePods,
  { evictNonDeletedPods }: Pick<GcScope, "evictNonDeletedPods">,
): string | undefined {
  if (pods.isContentRemovable(uid)) return goneReason;
  if (evictNonDeletedPods && pods.isRuntimeRemovable(uid)) return "its pod has ended";
  return undefined;
}

function newestFirst(
  a: { readonly createdAt?: bigint | undefined },
  b: { readonly createdAt?: bigint | undefined },
): number {
  const difference = (b.createdAt ?? 0n) - (a.createdAt ?? 0n);
  if (difference === 0n) return 0;
  return difference > 0n ? 1 : -1;
}
