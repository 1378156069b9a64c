import {
  claimOf,
  fsStats,
  isLocalEphemeralVolume,
  volumeMeasure,
} from "../../core/stats/disk-stats.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { VolumeStats } from "../../model/stats-summary.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface VolumeUsageDeps {
  readonly host: Pick<HostUsage, "tree" | "fileSystem">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "observe">;
  readonly pods: () => readonly Pod[];
  /** Where a pod's volumes are mounted, by name. */
  readonly mountedVolumes: (uid: string) => ReadonlyMap<string, { readonly path: string }>;
  /** How old a measurement may become; zero or less measures nothing. */
  readonly periodMs: number;
}

export interface PodVolumeUsage {
  /** Those that count against the pod's ephemeral storage. */
  readonly ephemeral: readonly VolumeStats[];
  readonly others: readonly VolumeStats[];
}

/** A new pod's volumes are measured this soon. */
const lookIntervalMs = 10_000;
/** One pod with millions of files does not keep the others waiting. */
const podsAtOnce = 3;

interface Measured {
  readonly atMs: number;
  readonly usage: PodVolumeUsage;
}

/** What the volumes of pods take, measured in the background. */
export class VolumeUsage {
  readonly #deps: VolumeUsageDeps;
  readonly #measured = new Map<string, Measured>();

  constructor(deps: VolumeUsageDeps) {
    this.#deps = deps;
  }

  latest(uid: string): PodVolumeUsage | undefined {
    return this.#measured.get(uid)?.usage;
  }

  /** Measures until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#deps;
    if (periodMs <= 0) return;
    while (!signal.aborted) {
      await this.measureDue(signal);
      await clock.sleep(Math.min(periodMs, lookIntervalMs), signal).catch(() => undefined);
    }
  }

  /** Measures the pods whose turn has come. */
  async measureDue(signal: AbortSignal): Promise<void> {
    const { clock, pods, periodMs } = this.#deps;
    const wanted = pods();
    const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
    for (const uid of this.#measured.keys()) if (!uids.has(uid)) this.#measured.delete(uid);
    const due = wanted.filter(({ metadata }) => {
      const last = this.#measured.get(metadata.uid);
      return last === undefined || clock.monotonicMs() - last.atMs >= periodMs;
    });
    const measureNext = async (): Promise<void> => {
      for (let pod = due.shift(); pod !== undefined; pod = due.shift()) {
        if (signal.aborted) return;
        await this.#measure(pod, signal);
      }
    };
    await Promise.all(Array.from({ length: podsAtOnce }, measureNext));
  }

  async #measure(pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock, mountedVolumes, log } = this.#deps;
    const mounted = mountedVolumes(pod.metadata.uid);
    if (mounted.size === 0) return;
    const ephemeral: VolumeStats[] = [];
    const others: VolumeStats[] = [];
    for (const volume of pod.spec.volumes ?? []) {
      const { path = "" } = mounted.get(volume.name) ?? {};
      if (path === "") continue;
      try {
        const stats = await this.#measureVolume(pod, volume, path, signal);
        if (stats !== undefined) (isLocalEphemeralVolume(volume) ? ephemeral : others).push(stats);
      } catch (error) {
        if (signal.aborted) return;
        log.debug("cannot measure a volume", {
          pod: pod.metadata.name,
          volume: volume.name,
          error: errorText(error),
        });
      }
    }
    this.#measured.set(pod.metadata.uid, {
      atMs: clock.monotonicMs(),
      usage: { ephemeral, others },
    });
  }

  async #measureVolume(
    pod: Pod,
    volume: Volume,
    path: string,
    signal: AbortSignal,
  ): Promise<VolumeStats | undefined> {
    const { host, clock, metrics } = this.#deps;
    const measure = volumeMeasure(volume);
    if (measure === undefined) return undefined;
    const timeMs = clock.nowMs();
    const room = await host.fileSystem(path);
    if (room === undefined) return undefined;
    const startedAtMs = clock.monotonicMs();
    const use =
      measure === "files"
        ? await host.tree(path, signal)
        : { usedBytes: room.usedBytes, inodesUsed: room.inodes - room.inodesFree };
    if (use === undefined) return undefined;
    if (measure === "files") {
      const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
      const labels = { metric_source: "du" };
      metrics.observe("kubelet_volume_metric_collection_duration_seconds", seconds, labels);
    }
    const pvcRef = claimOf(volume, pod.metadata);
    return { ...fsStats(room, { timeMs, ...use }), name: volume.name, pvcRef };
  }
}
