import { podContainerDirectory, podHostsFile } from "../../../core/paths/data-paths.ts";
import { containerLogsDirectory, podLogsDirectory } from "../../../core/paths/log-paths.ts";
import { statsOfSample } from "../../../core/stats/cgroup-sample.ts";
import { type DiskUse, ephemeralStorage, fsStats } from "../../../core/stats/disk-stats.ts";
import { networkStats } from "../../../core/stats/network-stats.ts";
import { amountOf, statsOfRuntime, timeOf } from "../../../core/stats/runtime-stats.ts";
import { sumOfContainers } from "../../../core/stats/sum-containers.ts";
import { beginAll } from "../../../lib/begin-all.ts";
import type {
  FilesystemUsage,
  ContainerStats as RuntimeContainerStats,
} from "../../../model/generated/cri.ts";
import {
  type ContainerStats,
  type FsStats,
  type NetworkStats,
  type NodeStats,
  type PodStats,
  type RlimitStats,
  type Summary,
  systemContainerName,
} from "../../../model/stats-summary.ts";
import type { Cgroups } from "../../../ports/cgroups.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { ContainerRuntime, ImageService } from "../../../ports/container-runtime.ts";
import type { FileSystemUsage, HostUsage } from "../../../ports/host-usage.ts";
import type {
  CgroupMeasurements,
  MeasuredCgroup,
  StatsProvider,
  SummaryOptions,
} from "../../../ports/stats.ts";
import type { Faults } from "../../agent/faults.ts";
import type { VolumeUsage } from "../../volumes/volume-usage.ts";
import type { NodePodCgroups } from "../pod-cgroups.ts";
import type { CgroupSamples } from "./cgroup-samples.ts";
import {
  listMeasuredCgroups,
  listRunningPods,
  type RunningContainer,
  type RunningPod,
  type RunningPodsDeps,
} from "./running-pods.ts";

export interface StatsProviderDeps extends RunningPodsDeps {
  readonly runtime: Pick<
    ContainerRuntime & ImageService,
    "listContainers" | "listPodSandboxes" | "listContainerStats" | "imageFsInfo"
  >;
  readonly hostCgroups: Pick<Cgroups, "listChildren" | "listPids">;
  readonly samples: CgroupSamples;
  readonly hostUsage: HostUsage;
  readonly clock: Clock;
  readonly faults: Pick<Faults, "note" | "attempt">;
  readonly cgroups: Pick<NodePodCgroups, "podPaths" | "classPaths" | "rootPath">;
  readonly volumeUsage: Pick<VolumeUsage, "latest">;
  readonly node: MeasuredNode;
}

interface MeasuredNode {
  readonly nodeName: string;
  readonly rootFolder: string;
  readonly podLogsRoot: string;
  /** The cgroups behind the names of the node's system containers beside that of all pods. */
  readonly systemCgroups: Readonly<Record<string, string | undefined>>;
  readonly agentStartedAtMs: number;
}

/** Images rarely move to another disk. */
const imageFsIdAgeMs = 300_000;

/** What one summary needs to know only once. */
interface Round {
  readonly withAll: boolean;
  readonly nodeOnly: boolean;
  readonly arePodsFresh: boolean;
  readonly signal: AbortSignal;
  /** The file system of the data folder. */
  readonly nodeFs: FileSystemUsage | undefined;
  readonly runtimeStats: ReadonlyMap<string, RuntimeContainerStats>;
  readonly fileSystems: Map<string, Promise<FileSystemUsage | undefined>>;
}

/** The node's usage, from cgroups where there are any, and from the runtime where not. */
export class NodeStatsProvider implements StatsProvider, CgroupMeasurements {
  readonly #deps: StatsProviderDeps;
  /** The process that holds each sandbox's network. */
  readonly #sandboxPids = new Map<string, number>();
  #imageFsId: { readonly fsId: FilesystemUsage["fsId"]; readonly reportedAtMs: number } | undefined;

  constructor(deps: StatsProviderDeps) {
    this.#deps = deps;
  }

  get #systemCgroups(): Readonly<Record<string, string | undefined>> {
    const { node, cgroups } = this.#deps;
    return { ...node.systemCgroups, [systemContainerName.pods]: cgroups.rootPath };
  }

  async summary(options: SummaryOptions, signal: AbortSignal): Promise<Summary> {
    if (options.nodeOnly === true) {
      const round = await this.#beginRound([], options, signal);
      return { node: await this.#nodeStats(options.isFresh === true, round), pods: [] };
    }
    const pods = await listRunningPods(this.#deps, signal);
    const round = await this.#beginRound(pods, options, signal);
    const podStats: PodStats[] = [];
    for (const pod of pods) {
      try {
        podStats.push(await this.#podStats(pod, round));
      } catch (error) {
        // A pod that cannot be measured is missing; the others and the node are not.
        signal.throwIfAborted();
        this.#deps.faults.note(error, "stats", pod.uid);
      }
    }
    const node = await this.#nodeStats(options.isFresh === true, round);
    this.#forget(pods);
    return { node, pods: podStats };
  }

  async measuredCgroups(signal: AbortSignal): Promise<readonly MeasuredCgroup[]> {
    const { classPaths } = this.#deps.cgroups;
    const system = Object.values(this.#systemCgroups).filter((path) => path !== undefined);
    const deps = {
      ...this.#deps,
      sharedCgroups: [...system, ...classPaths].filter((path) => path !== ""),
      sandboxPid: (pod: RunningPod) => this.#sandboxPid(pod),
    };
    return await listMeasuredCgroups(deps, await listRunningPods(this.#deps, signal));
  }

  async #beginRound(
    pods: readonly RunningPod[],
    options: SummaryOptions,
    signal: AbortSignal,
  ): Promise<Round> {
    const withAll = options.cpuAndMemoryOnly !== true;
    const { runtime, hostUsage, node } = this.#deps;
    // Only the runtime knows the layers; where every cgroup is known it need not be asked for the rest.
    const hasAllCgroups = pods.every((pod) =>
      pod.containers.every((one) => one.cgroup !== undefined),
    );
    const mustAsk = pods.length > 0 && (withAll || !hasAllCgroups);
    const stats = mustAsk ? await runtime.listContainerStats({}, signal) : [];
    return {
      withAll,
      nodeOnly: options.nodeOnly === true,
      arePodsFresh: options.arePodsFresh === true,
      signal,
      nodeFs: await hostUsage.fileSystem(node.rootFolder),
      runtimeStats: new Map(stats.map((one) => [one.attributes?.id ?? "", one])),
      fileSystems: new Map(),
    };
  }

  async #nodeStats(isFresh: boolean, round: Round): Promise<NodeStats> {
    const { samples, hostUsage } = this.#deps;
    const { nodeName } = this.#deps.node;
    const root = await samples.read("/", isFresh);
    if (root === undefined) throw new Error("failed to get root cgroup stats");
    const { cpu, memory, io, swap } = statsOfSample(root, round.withAll);
    const systemContainers = await this.#systemContainers(isFresh, round.withAll);
    const shared = { nodeName, systemContainers, startTimeMs: hostUsage.bootTimeMs, cpu, memory };
    if (!round.withAll) return { ...shared, swap };
    const imageFs = await this.#imageFs(round);
    return {
      ...shared,
      io,
      network: await this.#network(undefined, root.usage.timeMs),
      fs: nodeFsStats(round.nodeFs, root.usage.timeMs),
      runtime: { imageFs, containerFs: imageFs },
      rlimit: await this.#rlimit(),
      swap,
    };
  }

  async #systemContainers(
    isFresh: boolean,
    withIo: boolean,
  ): Promise<readonly ContainerStats[] | undefined> {
    const { samples } = this.#deps;
    const { agentStartedAtMs } = this.#deps.node;
    const found: ContainerStats[] = [];
    for (const [name, path] of Object.entries(this.#systemCgroups)) {
      if (path === undefined || path === "") continue;
      const sample = await samples.read(path, isFresh && name === systemContainerName.pods);
      if (sample === undefined) continue;
      const startTimeMs =
        name === systemContainerName.kubelet ? agentStartedAtMs : sample.usage.createdAtMs;
      found.push({ name, startTimeMs, ...statsOfSample(sample, withIo) });
    }
    return found.length === 0 ? undefined : found;
  }

  async #podStats(pod: RunningPod, round: Round): Promise<PodStats> {
    const { samples } = this.#deps;
    const { uid, name, namespace } = pod;
    const containers: ContainerStats[] = [];
    let processes: number | undefined;
    for (const container of pod.containers) {
      const sample =
        container.cgroup === undefined
          ? undefined
          : await samples.read(container.cgroup, round.arePodsFresh);
      const used =
        sample === undefined
          ? this.#runtimeUse(container, round)
          : statsOfSample(sample, round.withAll);
      if (used === undefined) continue;
      if (sample !== undefined) {
        processes = (processes ?? 0) + (sample.usage.processes ?? 0);
      }
      containers.push({
        name: container.name,
        startTimeMs: timeOf(container.container.createdAt, 0),
        ...used,
        ...(round.withAll ? await this.#containerDisk(pod, container, round) : {}),
      });
    }
    const sample =
      pod.cgroup === undefined ? undefined : await samples.read(pod.cgroup, round.arePodsFresh);
    const { cpu, memory, io, swap } =
      sample === undefined
        ? { io: undefined, ...sumOfContainers(containers) }
        : statsOfSample(sample, round.withAll);
    const podRef = { name, namespace, uid };
    const startTimeMs = timeOf(pod.sandbox.createdAt, 0);
    const shared = { podRef, startTimeMs, containers: containers, cpu, memory };
    if (!round.withAll) return { ...shared, swap };
    return {
      ...shared,
      io,
      network: await this.#podNetwork(pod),
      ...(await this.#podDisk(pod, containers, round)),
      processStats: processes === undefined ? undefined : { processCount: processes },
      swap,
    };
  }

  #runtimeUse({ id }: RunningContainer, round: Round) {
    const stats = round.runtimeStats.get(id);
    if (stats === undefined) return undefined;
    return statsOfRuntime(stats, this.#deps.clock.nowMs(), round.withAll);
  }

  async #containerDisk(
    pod: RunningPod,
    container: RunningContainer,
    round: Round,
  ): Promise<Pick<ContainerStats, "rootfs" | "logs">> {
    const { hostUsage, clock, node } = this.#deps;
    const layer = round.runtimeStats.get(container.id)?.writableLayer;
    const files = await hostUsage.files(
      containerLogsDirectory(node.podLogsRoot, pod, container.name),
    );
    return {
      rootfs: layer === undefined ? undefined : await this.#layerStats(layer, round),
      logs:
        files === undefined || round.nodeFs === undefined
          ? undefined
          : fsStats(round.nodeFs, { timeMs: clock.nowMs(), ...files }),
    };
  }

  async #layerStats(layer: FilesystemUsage, round: Round): Promise<FsStats> {
    const room = await this.#fileSystem(layer.fsId?.mountpoint, round);
    return fsStats(room, {
      timeMs: timeOf(layer.timestamp, this.#deps.clock.nowMs()),
      usedBytes: amountOf(layer.usedBytes),
      inodesUsed: amountOf(layer.inodesUsed),
    });
  }

  async #podDisk(
    pod: RunningPod,
    containers: readonly ContainerStats[],
    round: Round,
  ): Promise<Pick<PodStats, "volumeStats" | "ephemeralStorage">> {
    const { hostUsage, clock, volumeUsage } = this.#deps;
    const { podLogsRoot, rootFolder } = this.#deps.node;
    const volumes = volumeUsage.latest(pod.uid);
    const all = volumes === undefined ? [] : [...volumes.ephemeral, ...volumes.others];
    const volumeStats = all.length === 0 ? undefined : all;
    if (round.nodeFs === undefined) return { volumeStats };
    // Termination messages are files of the node that containers write to without bounds, as the hosts file is.
    const messages = pod.containers.map(
      ({ name }) =>
        () =>
          hostUsage.files(podContainerDirectory(rootFolder, pod.uid, name)),
    );
    const uses = await beginAll(
      () => hostUsage.files(podLogsDirectory(podLogsRoot, pod)),
      () => hostUsage.file(podHostsFile(rootFolder, pod.uid)),
      ...messages,
    );
    const own = uses.map((use): DiskUse | undefined => use && { timeMs: clock.nowMs(), ...use });
    const others = [...(volumes?.ephemeral ?? []), ...own];
    return { volumeStats, ephemeralStorage: ephemeralStorage(round.nodeFs, containers, others) };
  }

  async #imageFs(round: Round): Promise<FsStats> {
    const nowMs = this.#deps.clock.monotonicMs();
    const known = this.#imageFsId;
    if (round.nodeOnly && known !== undefined && nowMs - known.reportedAtMs < imageFsIdAgeMs) {
      return await this.#layerStats({ fsId: known.fsId }, round);
    }
    const { imageFilesystems } = await this.#deps.runtime.imageFsInfo(round.signal);
    const first = imageFilesystems?.[0];
    if (first === undefined) throw new Error("imageFs information is unavailable");
    this.#imageFsId = { fsId: first.fsId, reportedAtMs: nowMs };
    return await this.#layerStats(first, round);
  }

  #fileSystem(path: string | undefined, round: Round): Promise<FileSystemUsage | undefined> {
    if (path === undefined || path === "") return Promise.resolve(undefined);
    const known = round.fileSystems.get(path) ?? this.#deps.hostUsage.fileSystem(path);
    round.fileSystems.set(path, known);
    return known;
  }

  async #podNetwork(pod: RunningPod): Promise<NetworkStats | undefined> {
    const pid = this.#sandboxPid(pod);
    return pid === undefined ? undefined : await this.#network(pid, this.#deps.clock.nowMs());
  }

  async #network(pid: number | undefined, timeMs: number): Promise<NetworkStats | undefined> {
    const interfaces = await this.#deps.hostUsage.interfaces(pid);
    return interfaces === undefined ? undefined : networkStats(interfaces, timeMs);
  }

  async #rlimit(): Promise<RlimitStats> {
    const { hostUsage, clock } = this.#deps;
    const { max, running } = await hostUsage.tasks();
    return { timeMs: clock.nowMs(), maxPid: max, runningProcesses: running };
  }

  #sandboxPid({ sandbox, sandboxCgroup }: RunningPod): number | undefined {
    const id = sandbox.id ?? "";
    const known = this.#sandboxPids.get(id);
    if (known !== undefined || sandboxCgroup === undefined) return known;
    const [pid] = this.#deps.hostCgroups.listPids(sandboxCgroup);
    if (pid !== undefined) this.#sandboxPids.set(id, pid);
    return pid;
  }

  #forget(pods: readonly RunningPod[]): void {
    this.#deps.samples.prune();
    const ids = new Set(pods.map(({ sandbox }) => sandbox.id ?? ""));
    for (const id of this.#sandboxPids.keys()) if (!ids.has(id)) this.#sandboxPids.delete(id);
  }
}

function nodeFsStats(usage: FileSystemUsage | undefined, timeMs: number): FsStats | undefined {
  if (usage === undefined) return undefined;
  const { usedBytes, inodes, inodesFree } = usage;
  return fsStats(usage, { timeMs, usedBytes, inodesUsed: inodes - inodesFree });
}
