import {
  claimOf,
  fsStats,
  isLocalEphemeralVolume,
  volumeMeasure,
} from "../../core/stats/disk-stats.ts";
import { errorText } from "../../lib/error-text.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { VolumeStats } from "../../model/stats-summary.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface VolumeUsageDeps {
  readonly foreignFiles: Pick<ForeignFiles, "measure">;
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
/** The longer a look takes, the less often it is taken: at most so small a part of the time is spent looking. */
const restPerLook = 20;

interface Measured {
  /** When it is to be measured next, by the monotonic clock. */
  readonly dueAtMs: number;
  readonly usage: PodVolumeUsage;
}

/** What the volumes of pods take, measured in the background, each pod for itself. */
export class VolumeUsage {
  readonly #deps: VolumeUsageDeps;
  readonly #measured = new Map<string, Measured>();
  /** The measurements under way, by the UID of the pod. */
  readonly #measuring = new Map<string, Promise<void>>();
  readonly #turns = new Semaphore(podsAtOnce);

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
      this.#startDue(signal);
      await clock.sleep(Math.min(periodMs, lookIntervalMs), signal).catch(() => undefined);
    }
    await Promise.all(this.#measuring.values());
  }

  /** Starts to measure the pods whose turn has come. */
  #startDue(signal: AbortSignal): void {
    const { pods } = this.#deps;
    const wanted = pods();
    const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
    for (const uid of this.#measured.keys()) if (!uids.has(uid)) this.#measured.delete(uid);
    const isAnyDue = wanted.some(({ metadata }) => this.#isDue(metadata.uid, 0));
    // Looks that come together need one helper process, started once.
    const earlyMs = isAnyDue ? this.#deps.periodMs / 2 : 0;
    for (const pod of wanted) {
      const { uid } = pod.metadata;
      if (this.#measuring.has(uid)) continue;
      if (this.#measured.has(uid) && !this.#isDue(uid, earlyMs)) continue;
      const measuring = this.#measureInTurn(pod, signal).finally(() => this.#measuring.delete(uid));
      this.#measuring.set(uid, measuring);
    }
  }

  #isDue(uid: string, earlyMs: number): boolean {
    const last = this.#measured.get(uid);
    return last !== undefined && this.#deps.clock.monotonicMs() >= last.dueAtMs - earlyMs;
  }

  async #measureInTurn(pod: Pod, signal: AbortSignal): Promise<void> {
    const leave = await this.#turns.enter(signal).catch(() => undefined);
    if (leave === undefined) return;
    try {
      await this.#measure(pod, signal);
    } finally {
      leave();
    }
  }

  async #measure(pod: Pod, signal: AbortSignal): Promise<void> {
    const { clock, mountedVolumes, log, periodMs } = this.#deps;
    const mounted = mountedVolumes(pod.metadata.uid);
    if (mounted.size === 0) return;
    const startedAtMs = clock.monotonicMs();
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
    const nowMs = clock.monotonicMs();
    const restMs = Math.max(periodMs, restPerLook * (nowMs - startedAtMs));
    this.#measured.set(pod.metadata.uid, {
      dueAtMs: startedAtMs + restMs,
      usage: { ephemeral, others },
    });
  }

  async #measureVolume(
    pod: Pod,
    volume: Volume,
    path: string,
    signal: AbortSignal,
  ): Promise<VolumeStats | undefined> {
    const { foreignFiles, clock, metrics } = this.#deps;
    const measure = volumeMeasure(volume);
    if (measure === undefined) return undefined;
    const timeMs = clock.nowMs();
    const startedAtMs = clock.monotonicMs();
    const measured = await foreignFiles.measure(path, measure, signal);
    if (measured === undefined) return undefined;
    if (measure === "files") {
      const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
      const labels = { metric_source: "du" };
      metrics.observe("kubelet_volume_metric_collection_duration_seconds", seconds, labels);
    }
    const pvcRef = claimOf(volume, pod.metadata);
    const use = { timeMs, ...measured.use };
    return { ...fsStats(measured.room, use), name: volume.name, pvcRef };
  }
}
