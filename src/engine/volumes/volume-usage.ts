import { fsStats, isFileVolume } from "../../core/stats/disk-stats.ts";
import {
  type PodVolumeStats,
  podVolumeStats,
  type VolumeMetrics,
} from "../../core/stats/volume-stats.ts";
import { errorText } from "../../lib/error-text.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { ManagedPod, MeasuredVolumes, PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { ContainerVolumes } from "./container-volumes.ts";
import type { StorageStats } from "./storage-stats.ts";

export interface VolumeUsageDeps {
  readonly foreignFiles: Pick<ForeignFiles, "measure">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "observe">;
  readonly table: PodTable;
  readonly volumes: Pick<ContainerVolumes, "mountedVolumes">;
  readonly storageStats: Pick<StorageStats, "read">;
  /** How old a measurement may become; zero or less measures nothing. */
  readonly periodMs: number;
}

/** A new pod's volumes are measured this soon. */
const lookIntervalMs = 10_000;
/** One pod with millions of files does not keep the others waiting. */
const podsAtOnce = 3;
/** The longer a look takes, the less often it is taken: at most so small a part of the time is spent looking. */
const restPerLook = 20;

/** What the volumes of pods take, measured in the background, each pod for itself. */
export class VolumeUsage {
  readonly #deps: VolumeUsageDeps;
  readonly #measured: SliceWriter<"volumeUsage">;
  readonly #turns = new Semaphore(podsAtOnce);

  constructor(deps: VolumeUsageDeps) {
    this.#deps = deps;
    this.#measured = deps.table.writer("volumeUsage");
  }

  latest(uid: PodUid): PodVolumeStats | undefined {
    return this.#measured.get(uid)?.last?.usage;
  }

  /** Measures until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs } = this.#deps;
    if (periodMs <= 0) return;
    while (!signal.aborted) {
      this.#startDue(signal);
      await clock.sleep(Math.min(periodMs, lookIntervalMs), signal).catch(() => undefined);
    }
    for (const [, { running }] of this.#measured.entries()) await running;
  }

  /** Starts to measure the pods whose turn has come. */
  #startDue(signal: AbortSignal): void {
    const { table, periodMs } = this.#deps;
    const pods = [...table.all()];
    const isAnyDue = pods.some((pod) => pod.wanted !== undefined && this.#isDue(pod, 0));
    // Looks that come together need one helper process, started once.
    const earlyMs = isAnyDue ? periodMs / 2 : 0;
    for (const pod of pods) {
      const { last, running } = pod.volumeUsage ?? {};
      if (pod.wanted === undefined) {
        // Should it come back under its UID, its volumes are new ones.
        if (last !== undefined) this.#set(pod.uid, { last: undefined });
        continue;
      }
      if (running !== undefined || (last !== undefined && !this.#isDue(pod, earlyMs))) continue;
      const measuring = this.#measure(pod.wanted, signal).finally(() =>
        this.#set(pod.uid, { running: undefined }),
      );
      this.#set(pod.uid, { running: measuring });
    }
  }

  #isDue({ volumeUsage }: ManagedPod, earlyMs: number): boolean {
    const last = volumeUsage?.last;
    return last !== undefined && this.#deps.clock.monotonicMs() >= last.dueAtMs - earlyMs;
  }

  /** Without effect on a pod that was forgotten meanwhile. */
  #set(uid: PodUid, changes: MeasuredVolumes): void {
    if (this.#deps.table.get(uid) === undefined) return;
    const { last, running } = { ...this.#measured.get(uid), ...changes };
    const isKnown = last !== undefined || running !== undefined;
    this.#measured.set(uid, isKnown ? { last, running } : undefined);
  }

  async #measure(pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock, storageStats, volumes, periodMs } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    // Storage may not answer for long, and takes no turn.
    const [files, stored] = await Promise.all([
      this.#measureInTurn(pod, signal),
      storageStats.read(pod, signal).catch(() => undefined),
    ]);
    if (files === undefined || stored === undefined || signal.aborted) return;
    const isAnyMounted = volumes.mountedVolumes(pod.metadata.uid).size > 0 || stored.size > 0;
    if (!isAnyMounted) return;
    const restMs = Math.max(periodMs, restPerLook * files.tookMs);
    const usage = podVolumeStats(pod, new Map([...files.measured, ...stored]));
    this.#set(pod.metadata.uid, { last: { dueAtMs: startedAtMs + restMs, usage } });
  }

  async #measureInTurn(pod: Pod, signal: AbortSignal): Promise<MeasuredFiles | undefined> {
    const leave = await this.#turns.enter(signal).catch(() => undefined);
    if (leave === undefined) return undefined;
    try {
      return await this.#measureFiles(pod, signal);
    } catch (error) {
      // Whatever one pod makes of it, the others are measured.
      const { name } = pod.metadata;
      this.#deps.log.debug("cannot measure a pod's volumes", {
        pod: name,
        error: errorText(error),
      });
      return undefined;
    } finally {
      leave();
    }
  }

  async #measureFiles(pod: Pod, signal: AbortSignal): Promise<MeasuredFiles | undefined> {
    const { clock, volumes, log } = this.#deps;
    const mounted = volumes.mountedVolumes(pod.metadata.uid);
    const startedAtMs = clock.monotonicMs();
    const measured = new Map<string, VolumeMetrics>();
    for (const volume of (pod.spec.volumes ?? []).filter(isFileVolume)) {
      const { path = "" } = mounted.get(volume.name) ?? {};
      if (path === "") continue;
      try {
        const metrics = await this.#measureVolume(path, signal);
        if (metrics !== undefined) measured.set(volume.name, metrics);
      } catch (error) {
        if (signal.aborted) return undefined;
        log.debug("cannot measure a volume", {
          pod: pod.metadata.name,
          volume: volume.name,
          error: errorText(error),
        });
      }
    }
    return { measured, tookMs: clock.monotonicMs() - startedAtMs };
  }

  async #measureVolume(path: string, signal: AbortSignal): Promise<VolumeMetrics | undefined> {
    const { foreignFiles, clock, metrics } = this.#deps;
    const timeMs = clock.nowMs();
    const startedAtMs = clock.monotonicMs();
    const measured = await foreignFiles.measure(path, "files", signal);
    if (measured === undefined) return undefined;
    const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
    const labels = { metric_source: "du" };
    metrics.observe("kubelet_volume_metric_collection_duration_seconds", seconds, labels);
    return fsStats(measured.room, { timeMs, ...measured.use });
  }
}

interface MeasuredFiles {
  readonly measured: ReadonlyMap<string, VolumeMetrics>;
  readonly tookMs: number;
}
