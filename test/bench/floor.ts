import type { Image, PodSandboxConfig } from "../../src/model/generated/cri.ts";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { BUSYBOX } from "../integration/support/busybox.ts";
import { bareContainerConfig, bareSandboxConfig } from "./bare-configs.ts";
import type { BenchWorld } from "./bench-world.ts";

/** A pod that only the bare client knows. */
export interface BarePod {
  readonly pod: Pod;
  readonly sandbox: PodSandboxConfig;
  readonly sandboxId: string;
  readonly podIp: string;
  readonly image: Image;
  readonly containerId: string;
}

const callTimeoutMs = 120_000;
const graceSeconds = 20;

/** The calls that no kubelet can do without to start a pod, each as soon as what it needs is known. */
export async function startBarePod(world: BenchWorld, pod: Pod): Promise<BarePod> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  const { runtime } = world;
  const sandbox = bareSandboxConfig(world, pod);
  const [sandboxId, { image = {} }] = await Promise.all([
    runtime.runPodSandbox(sandbox, "", signal),
    runtime.imageStatus({ image: BUSYBOX }, false, signal),
  ]);
  // The containers' hosts file names the pod's address.
  const { status } = await runtime.podSandboxStatus(sandboxId, signal);
  const started = { pod, sandbox, sandboxId, podIp: status?.network?.ip ?? "", image };
  return { ...started, containerId: await startBareContainer(world, started, 0) };
}

export async function startBareContainer(
  world: BenchWorld,
  { pod, sandbox, sandboxId, podIp, image }: Omit<BarePod, "containerId">,
  restartCount: number,
): Promise<string> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  const container = bareContainerConfig(world, pod, image, { podIp, restartCount });
  const id = await world.runtime.createContainer(sandboxId, container, sandbox, signal);
  await world.runtime.startContainer(id, signal);
  return id;
}

/** The calls that no kubelet can do without to end a pod. */
export async function stopBarePod({ runtime }: BenchWorld, pod: BarePod): Promise<void> {
  const signal = AbortSignal.timeout(callTimeoutMs);
  await runtime.stopContainer(runtimeContainerId(pod.containerId), graceSeconds, signal);
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
