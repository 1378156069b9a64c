import {
  checkpointBurst,
  checkpointRefusal,
  secondsBetweenCheckpoints,
} from "../../core/container/checkpoint-limits.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { formatTime } from "../../lib/time.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { RuntimeContainerId } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { CheckpointRefusal } from "../../ports/kubelet-host.ts";

export interface ContainerCheckpointsDeps {
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

export interface CheckpointSubject {
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
    const leave = await this.#one.enter(signal);
    try {
      await files.ensureFolder(folder, 0o700);
      const refusal = await this.#refusal();
      if (refusal !== undefined) return err(refusal);
      return ok(await this.#checkpoint(subject, timeoutSeconds, signal));
    } finally {
      leave();
    }
  }

  async #refusal(): Promise<CheckpointRefusal | undefined> {
    const { hostUsage, folder } = this.#deps;
    const [held, disk] = await Promise.all([hostUsage.files(folder), hostUsage.fileSystem(folder)]);
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
