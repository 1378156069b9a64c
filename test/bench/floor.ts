import {
  type ContainerConfig,
  NamespaceMode,
  type PodSandboxConfig,
} from "../../src/model/generated/cri.ts";
import { untilTold } from "../integration/support/agent-manifests.ts";
import { BUSYBOX } from "../integration/support/busybox.ts";
import type { BenchWorld } from "./bench-world.ts";

/** A pod that nobody but the bare client knows of. */
export interface BarePod {
  readonly name: string;
  readonly sandbox: PodSandboxConfig;
  readonly sandboxId: string;
  readonly containerId: string;
}

const callTimeoutMs = 120_000;
const graceSeconds = 20;
const namespaceOptions = { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER };

/** The calls that no kubelet can do without to start a pod. */
export async function startBarePod(world: BenchWorld, name: string): Promise<BarePod> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  const sandbox: PodSandboxConfig = {
    metadata: { name, uid: name, namespace: "bench", attempt: 0 },
    hostname: name,
    logDirectory: `${world.folder}/bare-logs/${name}`,
    linux: {
      cgroupParent: `${world.cgroupRoot}/bare/${name}`,
      securityContext: { namespaceOptions },
    },
  };
  const sandboxId = await world.runtime.runPodSandbox(sandbox, "", signal);
  const containerId = await startBareContainer(world, { name, sandbox, sandboxId }, 0);
  return { name, sandbox, sandboxId, containerId };
}

export async function startBareContainer(
  { runtime }: BenchWorld,
  { sandbox, sandboxId }: Omit<BarePod, "containerId">,
  attempt: number,
): Promise<string> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  const container: ContainerConfig = {
    metadata: { name: "main", attempt },
    image: { image: BUSYBOX },
    command: ["sh", "-c", untilTold],
    logPath: `main-${attempt}.log`,
    linux: { securityContext: { namespaceOptions } },
  };
  const id = await runtime.createContainer(sandboxId, container, sandbox, signal);
  await runtime.startContainer(id, signal);
  return id;
}

/** The calls that no kubelet can do without to end a pod. */
export async function stopBarePod({ runtime }: BenchWorld, pod: BarePod): Promise<void> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  await runtime.stopContainer(pod.containerId, graceSeconds, signal);
  await runtime.stopPodSandbox(pod.sandboxId, signal);
}

export async function removeBarePod({ runtime }: BenchWorld, pod: BarePod): Promise<void> {
  await runtime.removePodSandbox(pod.sandboxId, AbortSignal.timeout(callTimeoutMs));
}

/** Does the same to all, so many of them at once. */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const left = [...items.entries()];
  const run = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, item] = next;
      results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, run));
  return results;
}
