import type { Pod } from "../../model/pod.ts";
import {
  compareQuantity,
  type Quantity,
  subtractQuantity,
  wholeQuantity,
  zeroQuantity,
} from "../../model/quantity.ts";
import type { PodStats } from "../../model/stats-summary.ts";
import { type DiskPart, memoryUsage, podDiskUsage, requestedAmount } from "./pod-usage.ts";
import { type Signal, signalResource } from "./signal.ts";
import type { FsLayout } from "./threshold.ts";

export type StatsOfPod = (pod: Pod) => PodStats | undefined;

/** What the node can reclaim before pods are evicted. */
export type NodeReclaim = "containers" | "images";

/** The pods in the order in which they go; those that tie stay in the given order. */
export function rankPods(
  pods: readonly Pod[],
  statsOf: StatsOfPod,
  signal: Signal,
  layout: FsLayout,
): Pod[] {
  const compare = signal === "pid.available" ? byPriorityThenExcess : byExceedingThenPriority;
  return pods
    .map((pod) => {
      const stats = statsOf(pod);
      return ranked(pod, stats, burdenOf(pod, stats, signal, layout));
    })
    .toSorted(compare)
    .map(({ pod }) => pod);
}

/** What is reclaimed first when a signal is low, in order. */
export function nodeReclaims(
  signal: Signal,
  { dedicatedImageFs, splitContainerFs }: FsLayout,
): readonly NodeReclaim[] {
  const fs = filesystemOf(signal);
  if (fs === undefined) return [];
  if (!dedicatedImageFs) return ["containers", "images"];
  if (splitContainerFs) return fs === "imagefs" ? ["images"] : ["containers"];
  return fs === "nodefs" ? [] : ["containers", "images"];
}

interface Burden {
  /** Usage beyond what the pod asks for. */
  readonly excess: Quantity;
  readonly exceedsRequest: boolean;
}

interface Ranked extends Burden {
  readonly pod: Pod;
  readonly priority: number;
  readonly isMeasured: boolean;
}

function ranked(pod: Pod, stats: PodStats | undefined, burden: Burden): Ranked {
  return { pod, priority: pod.spec.priority ?? 0, isMeasured: stats !== undefined, ...burden };
}

function burdenOf(pod: Pod, stats: PodStats | undefined, signal: Signal, layout: FsLayout): Burden {
  const resource = signalResource(signal);
  switch (resource) {
    case "memory":
      return burden(memoryUsage(stats?.memory), requestedAmount(pod, resource));
    case "pids":
      return burden(processes(stats), zeroQuantity);
    case "ephemeral-storage":
    case "inodes": {
      const usage = podDiskUsage(pod, stats, diskParts(signal, layout), resource);
      const { exceedsRequest } = burden(usage, requestedAmount(pod, resource));
      // Inodes too are weighed against the storage that the pod asks for.
      const { excess } = burden(usage, requestedAmount(pod, "ephemeral-storage"));
      return { exceedsRequest, excess };
    }
  }
}

function burden(usage: Quantity, request: Quantity): Burden {
  return {
    excess: subtractQuantity(usage, request),
    exceedsRequest: compareQuantity(usage, request) > 0,
  };
}

function processes(stats: PodStats | undefined): Quantity {
  return wholeQuantity(BigInt(stats?.processStats?.processCount ?? 0), "DecimalSI");
}

/** What of a pod lies on the filesystem that is short. */
function diskParts(
  signal: Signal,
  { dedicatedImageFs, splitContainerFs }: FsLayout,
): readonly DiskPart[] {
  if (!dedicatedImageFs) return ["layers", "logs", "volumes"];
  const fs = filesystemOf(signal);
  if (splitContainerFs) return fs === "imagefs" ? [] : ["layers", "logs", "volumes"];
  return fs === "nodefs" ? ["logs", "volumes"] : ["layers"];
}

function filesystemOf(signal: Signal): "nodefs" | "imagefs" | "containerfs" | undefined {
  const [fs] = signal.split(".");
  return fs === "nodefs" || fs === "imagefs" || fs === "containerfs" ? fs : undefined;
}

function byExceedingThenPriority(a: Ranked, b: Ranked): number {
  const unmeasured = trueFirst(!a.isMeasured, !b.isMeasured);
  if (unmeasured !== 0) return unmeasured;
  const exceeding = a.isMeasured ? trueFirst(a.exceedsRequest, b.exceedsRequest) : 0;
  return exceeding !== 0 ? exceeding : byPriorityThenExcess(a, b);
}

function byPriorityThenExcess(a: Ranked, b: Ranked): number {
  if (a.priority !== b.priority) return a.priority - b.priority;
  const unmeasured = trueFirst(!a.isMeasured, !b.isMeasured);
  if (unmeasured !== 0 || !a.isMeasured) return unmeasured;
  return compareQuantity(b.excess, a.excess);
}

function trueFirst(a: boolean, b: boolean): number {
  if (a === b) return 0;
  return a ? -1 : 1;
}
