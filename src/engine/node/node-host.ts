import {
  checkpointBurst,
  checkpointRefusal,
  secondsBetweenCheckpoints,
} from "../../core/container/checkpoint-limits.ts";
import { beginAll } from "../../lib/begin-all.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { formatTime } from "../../lib/time.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { ContainerState, PodSandboxState } from "../../model/generated/cri.ts";
import { podUid, type RuntimeContainerId, rawContainerId } from "../../model/ids.ts";
import { containerNameLabel } from "../../model/labels.ts";
import { findObserved } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { CheckpointRefusal, KubeletHost, RunningPod } from "../../ports/kubelet-host.ts";
import type { SyncLoop } from "../loop/sync-loop.ts";
import type { WorkQueue } from "../loop/work-queue.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";

export interface NodeHostDeps {
  readonly runtime: Pick<
    ContainerRuntime,
    "listPodSandboxes" | "listContainers" | "portForward" | "execSyncWhole"
  >;
  readonly checkpoints: Pick<ContainerCheckpoints, "write">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly observed: Pick<ObservedPods, "find">;
  readonly loop: Pick<SyncLoop, "lastTurnMs">;
  readonly queue: Pick<WorkQueue, "resyncIntervalMs">;
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
    const [sandboxes, containers] = await beginAll(
      () => runtime.listPodSandboxes({ state: { state: PodSandboxState.SANDBOX_READY } }, signal),
      () => runtime.listContainers({ state: { state: ContainerState.CONTAINER_RUNNING } }, signal),
    );
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
    const run = () => this.#deps.runtime.execSyncWhole(id, command, signal);
    const done = await this.#runs.run(run, signal);
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
    const { clock, loop, queue } = this.#deps;
    const patienceMs = Math.max(queue.resyncIntervalMs * 2, leastPatienceMs);
    const isStuck = clock.monotonicMs() > loop.lastTurnMs + patienceMs;
    return isStuck ? "sync Loop took longer than expected" : undefined;
  }

  #runningId({ metadata }: Pod, name: string): RuntimeContainerId | undefined {
    const observed = this.#deps.observed.find(metadata.uid);
    const container = observed === undefined ? undefined : findObserved(observed, name);
    return container?.state === "running" ? rawContainerId(container.id) : undefined;
  }
}

interface ContainerCheckpointsDeps {
  readonly runtime: Pick<ContainerRuntime, "checkpointContainer">;
  readonly files: Pick<HostFiles, "ensureFolder">;
  readonly hostUsage: Pick<HostUsage, "files" | "fileSystem">;
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
  readonly folder: string;
}

const tooMany: CheckpointRefusal = {
  message: `too many checkpoints in a short time: at most ${checkpointBurst} at once, then one every ${secondsBetweenCheckpoints} seconds`,
  retryAfterSeconds: secondsBetweenCheckpoints,
};

interface CheckpointSubject {
  readonly pod: Pod;
  readonly container: string;
  readonly containerId: RuntimeContainerId;
}

/** Archives of running containers: one is written at a time, and all of them have a limit in number, size and rate. */
export class ContainerCheckpoints {
  readonly #deps: ContainerCheckpointsDeps;
  readonly #one = new Semaphore(1);
  readonly #rate = new TokenBucket(1 / secondsBetweenCheckpoints, checkpointBurst);

  constructor(deps: ContainerCheckpointsDeps) {
    this.#deps = deps;
  }

  /** Resolves to the archive's path. */
  async write(
    subject: CheckpointSubject,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<Result<string, CheckpointRefusal>> {
    const { files, clock, folder } = this.#deps;
    if (!this.#rate.tryTake(clock.monotonicMs())) return err(tooMany);
    return this.#one.run(async () => {
      await files.ensureFolder(folder, 0o700);
      const refusal = await this.#refusal();
      if (refusal !== undefined) return err(refusal);
      return ok(await this.#checkpoint(subject, timeoutSeconds, signal));
    }, signal);
  }

  async #refusal(): Promise<CheckpointRefusal | undefined> {
    const { hostUsage, folder } = this.#deps;
    const [held, disk] = await beginAll(
      () => hostUsage.files(folder),
      () => hostUsage.fileSystem(folder),
    );
    return checkpointRefusal({
      folder,
      count: held?.inodesUsed ?? 0,
      bytes: held?.usedBytes ?? 0,
      diskBytes: disk?.capacityBytes,
    });
  }

  async #checkpoint(
    { pod, container, containerId }: CheckpointSubject,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<string> {
    const { runtime, clock, folder } = this.#deps;
    const { name, namespace } = pod.metadata;
    const time = formatTime(clock.nowMs());
    const file = `${folder}/checkpoint-${name}_${namespace}-${container}-${time}.tar`;
    await runtime.checkpointContainer(containerId, file, timeoutSeconds, signal);
    return file;
  }
}
