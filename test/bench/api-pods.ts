import type { Pod, PodSpec } from "../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { benchNode } from "./bench-settings.ts";
import type { BenchCluster, BenchWorld } from "./bench-world.ts";
import { inParallel } from "./floor.ts";

export const podsPath = "/api/v1/namespaces/default/pods";
const benchPods = `${podsPath}?labelSelector=bench=yes`;
const timeoutMs = 180_000;
const requestsAtOnce = 30;

/** The world's cluster; cases that need one are not run without. */
export function clusterOf({ cluster }: BenchWorld): BenchCluster {
  if (cluster === undefined) throw new Error("there is no cluster");
  return cluster;
}

/** Creates pods on the bench's node; answers when the first was sent and when all were seen to run. */
export async function createPods(
  world: BenchWorld,
  names: readonly string[],
  spec: Partial<PodSpec> = {},
  isUp: (pod: Pod) => boolean = isRunning,
): Promise<{ readonly sentMs: number; readonly seenMs: number }> {
  const { api } = clusterOf(world);
  const wanted = new Set(names);
  const isWanted = ({ metadata }: Pod): boolean => wanted.has(metadata?.name ?? "");
  const seen = untilSeen(
    world,
    (pods) => pods.filter(isWanted).filter(isUp).length >= names.length,
  );
  const sentMs = performance.now();
  await inParallel(names, requestsAtOnce, (name) => api.create(podsPath, podObject(name, spec)));
  return { sentMs, seenMs: await seen };
}

/** Deletes pods; answers when the first was sent and when all were seen to be gone. */
export async function deletePods(
  world: BenchWorld,
  names: readonly string[],
): Promise<{ readonly sentMs: number; readonly seenMs: number }> {
  const { api } = clusterOf(world);
  const gone = new Set(names);
  const seen = untilSeen(
    world,
    (pods) => !pods.some(({ metadata }) => gone.has(metadata?.name ?? "")),
  );
  const sentMs = performance.now();
  await inParallel(names, requestsAtOnce, (name) => api.delete(`${podsPath}/${name}`));
  return { sentMs, seenMs: await seen };
}

/** When the watch of the bench's pods first showed this. */
export async function untilSeen(
  { cluster }: BenchWorld,
  isReached: (pods: readonly Pod[]) => boolean,
): Promise<number> {
  await cluster?.api.until<Pod>(benchPods, isReached, timeoutMs);
  return performance.now();
}

export function podNames(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

export function isRunning({ status }: Pod): boolean {
  return status?.phase === "Running";
}

function podObject(name: string, spec: Partial<PodSpec>): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { bench: "yes" } },
    spec: {
      nodeName: benchNode,
      containers: [shell("main", untilStopped)],
      terminationGracePeriodSeconds: 20,
      automountServiceAccountToken: false,
      ...spec,
    },
  };
}
