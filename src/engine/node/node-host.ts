import type { Result } from "../../lib/result.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import {
  ContainerState,
  type ExecSyncResponse,
  PodSandboxState,
} from "../../model/generated/cri.ts";
import { podUid, type RuntimeContainerId, rawContainerId } from "../../model/ids.ts";
import { containerNameLabel } from "../../model/labels.ts";
import { findObserved } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { CheckpointRefusal, KubeletHost, RunningPod } from "../../ports/kubelet-host.ts";
import type { SyncLoop } from "../loop/sync-loop.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { ContainerCheckpoints } from "./container-checkpoints.ts";

export interface NodeHostDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    "listPodSandboxes" | "listContainers" | "portForward" | "execSyncWhole"
  >;
  readonly checkpoints: Pick<ContainerCheckpoints, "write">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly observed: Pick<ObservedPods, "find">;
  readonly loop: Pick<SyncLoop, "lastTurnMs">;
  readonly resyncIntervalMs: number;
}

/** So long the sync loop may stand still at least before that is a problem. */
const leastPatienceMs = 5 * 60_000;

/** Commands whose whole output is held: up to 16 MiB each. */
const maxRuns = 8;

/** What the kubelet's API may have done with pods and containers. */
export class NodeHost implements KubeletHost {
  readonly #deps: NodeHostDeps;
  readonly #runs = new Semaphore(maxRuns);

  constructor(deps: NodeHostDeps) {
    this.#deps = deps;
  }

  async listRunningPods(signal: AbortSignal): Promise<readonly RunningPod[]> {
    const { runtime } = this.#deps;
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandboxes({ state: { state: PodSandboxState.SANDBOX_READY } }, signal),
      runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } }, signal),
    ]);
    return sandboxes.map(({ id, metadata }) => ({
      name: metadata?.name ?? "",
      namespace: metadata?.namespace ?? "",
      uid: podUid(metadata?.uid ?? ""),
      containers: containers
        .filter(({ podSandboxId }) => podSandboxId === id)
        .map(({ labels, image, imageRef }) => ({
          name: labels?.[containerNameLabel] ?? "",
          image: image?.image ?? imageRef ?? "",
        })),
    }));
  }

  async portForwardUrl(pod: Pod, ports: readonly number[], signal: AbortSignal): Promise<URL> {
    const { runtime, observed } = this.#deps;
    const { name, namespace, uid } = pod.metadata;
    const sandbox = observed.find(uid)?.sandboxes.find(({ state }) => state === "ready");
    if (sandbox === undefined) throw new Error(`pod not found ("${name}_${namespace}")`);
    const request = { podSandboxId: sandbox.id, port: ports };
    const { url = "" } = await runtime.portForward(request, signal);
    return new URL(url);
  }

  async runInContainer(
    pod: Pod,
    container: string,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const id = this.#runningId(pod, container);
    if (id === undefined) throw new Error(`container not found ("${container}")`);
    const done = await this.#runWhole(id, command, signal);
    const { stdout = new Uint8Array(), stderr = new Uint8Array(), exitCode = 0 } = done;
    if (exitCode !== 0) {
      const said = new TextDecoder().decode(stderr);
      throw new Error(`command '${command.join(" ")}' exited with ${exitCode}: ${said}`);
    }
    const output = new Uint8Array(stdout.length + stderr.length);
    output.set(stdout);
    output.set(stderr, stdout.length);
    return output;
  }

  async #runWhole(
    id: RuntimeContainerId,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<ExecSyncResponse> {
    const leave = await this.#runs.enter(signal);
    try {
      return await this.#deps.runtime.execSyncWhole(id, command, signal);
    } finally {
      leave();
    }
  }

  async checkpoint(
    pod: Pod,
    container: string,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<Result<string, CheckpointRefusal>> {
    const containerId = this.#runningId(pod, container);
    if (containerId === undefined) throw new Error(`container ${container} not found`);
    return await this.#deps.checkpoints.write(
      { pod, container, containerId },
      timeoutSeconds,
      signal,
    );
  }

  syncLoopProblem(): string | undefined {
    const { clock, loop, resyncIntervalMs } = this.#deps;
    const patienceMs = Math.max(resyncIntervalMs * 2, leastPatienceMs);
    const isStuck = clock.monotonicMs() > loop.lastTurnMs + patienceMs;
    return isStuck ? "sync Loop took longer than expected" : undefined;
  }

  #runningId({ metadata }: Pod, name: string): RuntimeContainerId | undefined {
    const observed = this.#deps.observed.find(metadata.uid);
    const container = observed === undefined ? undefined : findObserved(observed, name);
    return container?.state === "running" ? rawContainerId(container.id) : undefined;
  }
}
