import type { PodSpec } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import type { ClusterApi } from "./cluster-api.ts";

export const podsPath = "/api/v1/namespaces/default/pods";

interface PodOptions {
  readonly spec?: Partial<PodSpec>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A pod's manifest; one container "main" that runs until it is stopped, unless the spec says more. */
function podObject(name: string, { spec = {}, labels = {} }: PodOptions = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: podSpec(spec),
  };
}

export function podSpec(more: Partial<PodSpec> = {}): PodSpec {
  return {
    containers: [shell("main", untilStopped)],
    terminationGracePeriodSeconds: 10,
    ...more,
  };
}

/** Creates a pod; resolves as the API server has it then. */
export async function createPod(
  api: ClusterApi,
  name: string,
  options: PodOptions = {},
): Promise<Pod> {
  return (await api.create(podsPath, podObject(name, options))) as Pod;
}

/** The pod of that name as soon as it is as wanted. */
export async function untilPod(
  api: ClusterApi,
  name: string,
  isReached: (pod: Pod) => boolean,
  timeoutMs = 60_000,
): Promise<Pod> {
  const path = `${podsPath}?fieldSelector=metadata.name=${name}`;
  const [pod] = await api.until<Pod>(path, (pods) => pods.some(isReached), timeoutMs);
  if (pod === undefined) throw new Error(`pod ${name} is gone`);
  return pod;
}

/** Resolves once the API server has no such pods; `selector` is a query, such as ?labelSelector=app=web. */
export async function untilNoPods(
  api: ClusterApi,
  selector = "",
  timeoutMs = 90_000,
): Promise<void> {
  await api.until<Pod>(podsPath + selector, (pods) => pods.length === 0, timeoutMs);
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );
}

/** What a restart of a container changes, by the container's name. */
export function containersOf({ status }: Pod): Readonly<Record<string, readonly unknown[]>> {
  const all = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return Object.fromEntries(
    all.map(({ name, containerID, restartCount }) => [name, [containerID, restartCount]]),
  );
}

/** Restarts of the pod's first container; -1 when it has no status. */
export function restartsOf({ status }: Pod): number {
  return status?.containerStatuses?.[0]?.restartCount ?? -1;
}
