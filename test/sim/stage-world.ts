import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { SimCgroups } from "../../src/drivers/sim/sim-cgroups.ts";
import { SimForeignFiles } from "../../src/drivers/sim/sim-foreign-files.ts";
import { simDisk } from "../../src/drivers/sim/sim-host.ts";
import { SimMounts } from "../../src/drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../src/drivers/sim/sim-payload-files.ts";
import { LocalObjects } from "../../src/engine/intake/local-objects.ts";
import { PodMemory } from "../../src/engine/pods/pod-memory.ts";
import { PodRegistry } from "../../src/engine/pods/pod-registry.ts";
import type { PodStage } from "../../src/engine/pods/pod-stage.ts";
import { createPodStages } from "../../src/engine/pods/pod-stages.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import { ResourceRecords } from "../../src/engine/resources/allocation/resource-records.ts";
import { NodePodCgroups } from "../../src/engine/resources/pod-cgroups.ts";
import { EventLog } from "../../src/engine/view/event-log.ts";
import { FlightRecorder } from "../../src/engine/view/flight-recorder.ts";
import type { NodeHistory } from "../../src/engine/view/node-history.ts";
import type { PodChanges } from "../../src/engine/view/pod-changes.ts";
import { VolumeStates } from "../../src/engine/volumes/volume-states.ts";
import { emptyObservedPod, type ObservedPod } from "../../src/model/observed.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { Log } from "../../src/ports/log.ts";
import { noMetrics } from "../kit/no-metrics.ts";
import { testPodChanges } from "../kit/pod-parts.ts";
import { testPod } from "../kit/pods.ts";
import { silentLog } from "../kit/silent-log.ts";
import { testHistory } from "../kit/test-history.ts";
import { idleDevices, idleManagers } from "../kit/test-managers.ts";
import { startTestStorage } from "../kit/test-storage.ts";
import { VirtualClock } from "./virtual-clock.ts";

export const podLogsRoot = "/var/log/pods";
export const rootFolder = "/root";

/** The stages of pods on a machine in memory, and all that they leave there. */
export class StageWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly table: PodTable = new PodTable();
  readonly volumes: VolumeStates = new VolumeStates(this.table);
  readonly changes: PodChanges = testPodChanges(this.table);
  readonly files: MemoryFiles = new MemoryFiles();
  readonly history: NodeHistory = testHistory(this.table);
  readonly mounts: SimMounts = new SimMounts();
  readonly cgroups: SimCgroups = new SimCgroups();
  readonly foreignFiles: SimForeignFiles;
  readonly memory: PodMemory;
  readonly events: EventLog;
  readonly stages: readonly PodStage[];
  /** What the stages did, in order. */
  readonly calls: string[] = [];
  readonly warnings: string[] = [];
  readonly registry: PodRegistry = new PodRegistry(this.table);
  /** Paths of trees that cannot be removed. */
  readonly stuck: Set<string> = new Set();
  readonly lifetime: AbortController = new AbortController();
  readonly log: Log = { ...silentLog, warn: (message) => void this.warnings.push(message) };
  readonly #managers = idleManagers();

  constructor() {
    const { clock, log, files, history, mounts, table } = this;
    const payloads = new SimPayloadFiles();
    this.foreignFiles = new SimForeignFiles({
      payloads,
      mounts,
      readEnd: () => Promise.resolve(undefined),
      removeTree: (path) => this.#removeTree(path),
      disk: () => simDisk(clock.nowMs()),
    });
    this.memory = this.#createMemory(history);
    this.events = new EventLog({ table, clock, host: "node", history, sender: undefined });
    const { events } = this;
    const storage = startTestStorage({
      states: this.volumes,
      table,
      rootFolder,
      files,
      payloadFiles: payloads,
      foreignFiles: this.foreignFiles,
      mounts,
      objects: new LocalObjects(),
      tokens: undefined,
      trustBundles: undefined,
      podCertificates: undefined,
      allocatable: {},
      events,
      metrics: noMetrics,
      clock,
      log,
      lifetime: this.lifetime.signal,
      workerStates: {
        shouldPodContainersBeTerminating: (uid) => table.get(uid)?.wanted === undefined,
        shouldPodRuntimeBeRemoved: (uid) => table.get(uid)?.wanted === undefined,
      },
    });
    this.stages = createPodStages({
      objects: {
        prepare: async ({ metadata }) => void this.calls.push(`objects of ${metadata.uid}`),
        release: (uid) => void this.calls.push(`objects of ${uid} released`),
      },
      cgroups: this.#createCgroups(),
      deviceAdmission: { complete: () => Promise.resolve(undefined) },
      managers: this.#managers,
      claimResources: idleDevices().claimResources,
      actuated: new ResourceRecords({
        slice: table.writer("actuated"),
        files,
        log,
        path: `${rootFolder}/actuated_pods_state`,
      }),
      table,
      files,
      foreignFiles: this.foreignFiles,
      rootFolder,
      podLogsRoot,
      events,
      storage,
      mounts,
      prober: {
        addPod: ({ metadata }) => void this.calls.push(`probes of ${metadata.uid}`),
        stopLivenessAndStartup: ({ metadata }) =>
          void this.calls.push(`probes of ${metadata.uid} stopping`),
        removePod: (uid) => void this.calls.push(`probes of ${uid} removed`),
      },
    });
  }

  async start(): Promise<this> {
    await this.#managers.start();
    return this;
  }

  /** Everything on the machine that has the UID in its path. */
  async whatIsOnDisk(uid: string): Promise<readonly string[]> {
    const logs = await this.files.list(podLogsRoot);
    const paths = [
      ...(await this.files.list(`${rootFolder}/pods`)).map((name) => `pods/${name}`),
      ...logs.map((name) => `logs/${name}`),
      ...(await this.files.list(`${rootFolder}/statuses`)).map((name) => `statuses/${name}`),
      ...(await this.files.list(`${rootFolder}/ephemeral`)).map((name) => `ephemeral/${name}`),
      ...this.cgroups.paths,
      ...this.mounts.paths,
    ];
    return paths.filter((path) => path.includes(uid));
  }

  #createMemory(history: NodeHistory): PodMemory {
    const { log, files, table, changes } = this;
    const recorder = new FlightRecorder(table, history);
    return new PodMemory({ log, files, table, changes, rootFolder, recorder, history });
  }

  #createCgroups(): NodePodCgroups {
    return new NodePodCgroups({
      hostCgroups: this.cgroups,
      settings: {
        driver: "cgroupfs",
        root: ["kubepods"],
        cpuQuota: { enforceCpuLimits: true, cpuPeriodUs: 100_000 },
      },
      active: { listGranted: () => [] },
      managers: idleManagers(),
      lifetime: this.lifetime.signal,
      clock: this.clock,
      metrics: noMetrics,
    });
  }

  async #removeTree(path: string): Promise<void> {
    if (this.stuck.has(path)) throw new Error(`${path}: input/output error`);
    const [mount] = await this.mounts.listBelow(path);
    if (mount !== undefined) throw new Error(`${mount.mountPoint} is a mount point`);
    this.calls.push(`rm ${path}`);
    await this.files.removeTree(path);
  }
}

/** A pod with a volume in memory. */
export function podWithVolume(uid: string): Pod {
  return testPod(
    {
      containers: [{ name: "main", volumeMounts: [{ name: "cache", mountPath: "/cache" }] }],
      volumes: [{ name: "cache", emptyDir: { medium: "Memory" } }],
    },
    { uid },
  );
}

export function observedNothing({ metadata }: Pod): ObservedPod {
  return emptyObservedPod(metadata.uid, metadata.name, metadata.namespace);
}
