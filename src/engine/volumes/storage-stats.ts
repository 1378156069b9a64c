import type { VolumeMetrics } from "../../core/stats/volume-stats.ts";
import { csiDriverName, csiPluginName } from "../../core/storage/csi/csi-volume.ts";
import { isBlockVolume } from "../../core/storage/volume-spec.ts";
import type { PodMount } from "../../core/storage/volume-state.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinPath } from "../../lib/path.ts";
import { err, ok } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { BlockDevices } from "../../ports/block-devices.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DeviceTree } from "../../ports/device-tree.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { BlockMaps } from "./block-maps.ts";
import type { StatsRequest, StoragePlugin, StorageResult, VolumeStats } from "./storage-plugin.ts";
import type { VolumeStates } from "./volume-states.ts";

export interface StorageStatsDeps {
  readonly states: Pick<VolumeStates, "pod">;
  /** By name. */
  readonly plugins: ReadonlyMap<string, StoragePlugin>;
  readonly blockMaps: Pick<BlockMaps, "globalPath">;
  readonly devices: Pick<BlockDevices, "deviceNumber"> & Pick<DeviceTree, "readText">;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "observe">;
  readonly log: Log;
  readonly events: PodEvents;
  /** Whether what drivers say about the health of volumes is reported. */
  readonly volumeHealth: boolean;
}

/** The kernel counts in these, whatever the sectors of the device are. */
const sectorBytes = 512n;

const noStats: VolumeStats = {
  availableBytes: 0n,
  capacityBytes: 0n,
  usedBytes: 0n,
  inodesFree: 0n,
  inodes: 0n,
  inodesUsed: 0n,
};

/** What types of persistent storage report that volumes take. */
export class StorageStats {
  readonly #deps: StorageStatsDeps;

  constructor(deps: StorageStatsDeps) {
    this.#deps = deps;
  }

  /** Of the pod's volumes, by the names of its spec, those that are mounted and can be measured. */
  async read(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, VolumeMetrics>> {
    const { wanted, mounts } = this.#deps.states.pod(pod.metadata.uid);
    const found = new Map<string, VolumeMetrics>();
    for (const [name, { outerVolumeSpecNames: outer }] of wanted) {
      const mount = mounts.get(name);
      if (mount?.state !== "mounted") continue;
      const metrics = await this.#measure(pod, mount, outer, signal);
      if (metrics !== undefined) for (const each of outer) found.set(each, metrics);
    }
    return found;
  }

  async #measure(
    pod: Pod,
    mount: PodMount,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<VolumeMetrics | undefined> {
    const { clock, metrics, log } = this.#deps;
    const source = this.#sourceOf(mount);
    if (source === undefined) return undefined;
    const timeMs = clock.nowMs();
    const startedMs = clock.monotonicMs();
    const read = await this.#ask(mount, pod.metadata.uid, signal);
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    const labels = { metric_source: source };
    metrics.observe("kubelet_volume_metric_collection_duration_seconds", seconds, labels);
    if (!read.ok) {
      const { kind, message } = read.error;
      const fields = { pod: podKey(pod), volumes: names, error: message };
      if (kind !== "metricsNotSupported") log.debug("cannot measure a volume", fields);
      return undefined;
    }
    return { ...inNumbers(read.value), timeMs, abnormal: this.#noteHealth(pod, names, read.value) };
  }

  /** Upstream's name for how the volume is measured; undefined when it is not. */
  #sourceOf({ plugin, spec }: PodMount): string | undefined {
    if (plugin === csiPluginName) return csiDriverName(spec);
    if (isBlockVolume(spec)) return "block";
    return this.#deps.plugins.get(plugin)?.stats === undefined ? undefined : "statfs";
  }

  async #ask(
    { plugin, spec }: PodMount,
    podUid: PodUid,
    signal: AbortSignal,
  ): StorageResult<VolumeStats> {
    const request = { spec, podUid };
    try {
      if (plugin !== csiPluginName && isBlockVolume(spec)) return await this.#deviceSize(request);
      const read = await this.#deps.plugins.get(plugin)?.stats?.(request, signal);
      const message = `metrics are not supported for ${plugin} volumes`;
      return read ?? err({ kind: "metricsNotSupported", message });
    } catch (error) {
      signal.throwIfAborted();
      return err({ kind: "final", message: errorText(error) });
    }
  }

  /** All that is known of a raw device. */
  async #deviceSize({ spec, podUid }: StatsRequest): StorageResult<VolumeStats> {
    const { blockMaps, devices } = this.#deps;
    const folder = blockMaps.globalPath(spec);
    if (!folder.ok) return err({ kind: "final", message: folder.error.message });
    const path = joinPath(folder.value, podUid);
    const number = await devices.deviceNumber(path);
    const text = await devices.readText(`/sys/dev/block/${number}/size`);
    if (text === undefined) return err({ kind: "final", message: `${path} is not a device` });
    return ok({ ...noStats, capacityBytes: BigInt(text.trim()) * sectorBytes });
  }

  #noteHealth(pod: Pod, names: readonly string[], { condition }: VolumeStats): boolean | undefined {
    const { events, volumeHealth } = this.#deps;
    if (!volumeHealth || condition === undefined) return undefined;
    const { abnormal, message: said } = condition;
    const message = `Volume ${names.join(", ")}: ${said}`;
    const event = { type: "Warning", reason: "VolumeConditionAbnormal", message } as const;
    if (abnormal) events.record(pod, event);
    return abnormal;
  }
}

function inNumbers(stats: VolumeStats): Omit<VolumeMetrics, "timeMs"> {
  return {
    availableBytes: Number(stats.availableBytes),
    capacityBytes: Number(stats.capacityBytes),
    usedBytes: Number(stats.usedBytes),
    inodesFree: Number(stats.inodesFree),
    inodes: Number(stats.inodes),
    inodesUsed: Number(stats.inodesUsed),
  };
}
