import type { PodStatus } from "../model/generated/kubernetes.ts";
import type { ObservedPod } from "../model/observed.ts";
import type { Pod } from "../model/pod.ts";
import { AgentMetrics } from "./agent-metrics.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";
import { createAllocations } from "./allocation/create-allocations.ts";
import type { PodAllocations } from "./allocation/pod-allocations.ts";
import { ClusterParts } from "./cluster/cluster-parts.ts";
import { createImageManager } from "./create-image-manager.ts";
import { createNodeDeps } from "./create-node-deps.ts";
import { createStatuses } from "./create-statuses.ts";
import { createView } from "./create-view.ts";
import { createWorkers } from "./create-workers.ts";
import { housekeep } from "./housekeeping.ts";
import type { ImageManager } from "./image-manager.ts";
import type { NodeView } from "./node-view.ts";
import { Observer } from "./observer.ts";
import { PodAdmission } from "./pod-admission.ts";
import { PodCache } from "./pod-cache.ts";
import { NodePodCgroups } from "./pod-cgroups.ts";
import { PodMemory } from "./pod-memory.ts";
import { PodRegistry } from "./pod-registry.ts";
import { PodRemains } from "./pod-remains.ts";
import type { PodStatuses } from "./pod-statuses.ts";
import type { PodWorkers } from "./pod-workers.ts";
import { Prober } from "./prober.ts";
import { readPod } from "./read-pod.ts";
import { RuntimeHealth } from "./runtime-health.ts";
import { SourceIntake } from "./source-intake.ts";
import { SyncLoop } from "./sync-loop.ts";
import { VolumeManager } from "./volumes/volume-manager.ts";
import { WorkQueue } from "./work-queue.ts";

/** The parts of the agent, each knowing of the others only what it needs. `Agent` runs them. */
export class AgentParts {
  readonly #ports: AgentPorts;
  readonly #settings: AgentSettings;
  readonly #signal: AbortSignal;
  /** All pods of the runtime are known. */
  runtimeListed = false;

  readonly #registry = new PodRegistry();
  readonly #queue: WorkQueue;
  readonly memory: PodMemory;
  readonly #metrics: AgentMetrics;
  /** Undefined = the node belongs to no cluster. */
  readonly cluster: ClusterParts | undefined;
  readonly intake: SourceIntake;
  readonly health: RuntimeHealth;
  readonly #cache: PodCache;
  readonly observer: Observer;
  readonly prober: Prober;
  readonly allocations: PodAllocations;
  readonly #statuses: PodStatuses;
  readonly images: ImageManager;
  readonly #cgroups: NodePodCgroups;
  readonly #volumes: VolumeManager;
  readonly #remains: PodRemains;
  readonly workers: PodWorkers;
  readonly #admission: PodAdmission;
  readonly loop: SyncLoop;
  readonly view: NodeView;

  constructor(ports: AgentPorts, settings: AgentSettings, signal: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#signal = signal;
    this.#queue = new WorkQueue(ports.clock);
    this.#metrics = new AgentMetrics(ports.metrics, ports.clock);
    this.memory = new PodMemory(ports, settings, (event) => this.cluster?.events.take(event));
    this.cluster = this.#createCluster();
    this.intake = this.#createIntake();
    this.health = new RuntimeHealth(ports.runtime, ports.clock);
    this.#cache = new PodCache((uid) => this.observer.requestRead(uid));
    this.observer = this.#createObserver();
    this.prober = this.#createProber();
    this.allocations = this.#createAllocations();
    this.#statuses = this.#createStatuses();
    this.images = createImageManager(ports, settings, (uid) => this.#notePulls(uid));
    this.#cgroups = this.#createCgroups();
    this.#volumes = this.#createVolumes();
    this.#remains = this.#createRemains();
    this.workers = this.#createWorkers();
    this.#admission = this.#createAdmission();
    this.loop = this.#createLoop();
    this.view = createView({
      ports,
      settings,
      startedAtMs: ports.clock.nowMs(),
      registry: this.#registry,
      workers: this.workers,
      memory: this.memory,
      images: this.images,
      observer: this.observer,
      intake: this.intake,
    });
  }

  /** Every pod wants a look. */
  syncAll(): void {
    for (const { metadata } of this.#registry.list()) this.loop.requestSync(metadata.uid);
  }

  /** Counts what there is now, for somebody who asks for metrics. */
  collectMetrics(): void {
    this.#metrics.collect({
      pods: this.#registry.list(),
      isActive: (pod) => this.#admission.isActive(pod),
      mirrorCount: this.#registry.mirrorCount,
      runtimePods: this.observer.pods,
      workerState: (uid) => this.workers.stateOf(uid),
    });
  }

  #createCluster(): ClusterParts | undefined {
    const { api } = this.#ports;
    if (api === undefined) return undefined;
    return new ClusterParts({
      api,
      ports: this.#ports,
      settings: this.#settings,
      registry: this.#registry,
      workers: () => this.workers,
      requestSync: (uid) => this.loop.requestSync(uid),
      lifetime: this.#signal,
    });
  }

  #createObserver(): Observer {
    const { runtime, runtimeEvents, clock, log } = this.#ports;
    return new Observer(
      {
        runtime,
        eventSources: runtimeEvents,
        readPod: (uid, signal) => this.#readPod(uid, signal),
        cache: this.#cache,
        clock,
        log,
        onChange: ({ uid }) => this.loop.requestSync(uid),
        onHealth: (problem) => this.health.note(problem),
        onRelist: (ms, sinceLastMs) => this.#metrics.noteRelist(ms, sinceLastMs),
      },
      this.#signal,
    );
  }

  #readPod(uid: string, signal: AbortSignal): Promise<ObservedPod> {
    const { runtime, files, clock } = this.#ports;
    const { runtimeName } = this.#settings;
    const givenResources = (podUid: string, name: string) =>
      this.allocations.actuated.get(podUid)?.containers.get(name);
    return readPod({ runtime, files, clock, runtimeName, givenResources }, uid, signal);
  }

  #createProber(): Prober {
    const { clock, random, probeRunner } = this.#ports;
    return new Prober({
      clock,
      random,
      runner: probeRunner,
      events: this.memory.events,
      podStatus: (uid) => this.#statuses.get(uid),
      onProbed: (subject, result, ms) => this.#metrics.noteProbe(subject, result, ms),
      onUpdate: (kind, { podUid, containerId, result }) => {
        if (kind === "readiness") {
          this.#statuses.setReady(podUid, containerId, result === "Success");
        } else if (kind === "startup") {
          this.#statuses.setStarted(podUid, containerId, result === "Success");
        }
        this.loop.requestSync(podUid);
      },
    });
  }

  #createAllocations(): PodAllocations {
    return createAllocations({
      ports: this.#ports,
      settings: this.#settings,
      events: this.memory.events,
      registry: this.#registry,
      fits: (pod, others) => this.#admission.fits(pod, others),
      activePods: () => this.#admission.activePods(),
      sourcesReady: () => this.intake.seenAllSources(this.loop.handledSources),
      requestSync: (uid) => this.loop.requestSync(uid),
    });
  }

  #createStatuses(): PodStatuses {
    return createStatuses({
      ports: this.#ports,
      settings: this.#settings,
      registry: this.#registry,
      allocations: this.allocations,
      prober: this.prober,
      cgroups: () => this.#cgroups,
      onChange: (pod, status, _version, isFinished) => this.#noteStatus(pod, status, isFinished),
    });
  }

  #noteStatus(pod: Pod, status: PodStatus, isFinished: boolean): void {
    this.#metrics.noteStatus(pod, status);
    this.cluster?.noteStatus(pod, status, isFinished);
    this.memory.checkpoints.save(pod.metadata.uid, status, () =>
      this.view.noteChange("MODIFIED", pod),
    );
  }

  #notePulls(uid: string): void {
    const pod = this.#registry.get(uid);
    if (pod !== undefined) this.view.noteChange("MODIFIED", pod);
  }

  #createCgroups(): NodePodCgroups {
    const { cpuCfsQuota, cpuCfsPeriodUs } = this.#settings.runtimeSettings;
    return new NodePodCgroups({
      cgroups: this.#ports.cgroups,
      driver: this.#settings.cgroupDriver,
      root: this.#settings.cgroupRoot,
      cpuQuota: { enforceCpuLimits: cpuCfsQuota, cpuPeriodUs: cpuCfsPeriodUs },
      activePods: () =>
        this.#admission.activePods().map((pod) => this.allocations.allocatedPod(pod)),
      lifetime: this.#signal,
    });
  }

  #createVolumes(): VolumeManager {
    const { files, volumeFiles, mounts, log } = this.#ports;
    const { rootFolder, node } = this.#settings;
    return new VolumeManager({
      rootFolder,
      files,
      volumeFiles,
      mounts,
      objects: this.cluster?.objects ?? this.intake.objects,
      tokens: this.cluster?.tokens,
      allocatable: () => node.status?.allocatable ?? {},
      events: this.memory.events,
      log,
      lifetime: this.#signal,
    });
  }

  #createRemains(): PodRemains {
    const { runtime, files, log } = this.#ports;
    const { rootFolder, runtimeSettings } = this.#settings;
    return new PodRemains({
      runtime,
      files,
      log,
      lifetime: this.#signal,
      rootFolder,
      podLogsRoot: runtimeSettings.podLogsRoot,
      runtimePods: () => this.observer.pods,
      requestRead: (uid) => this.observer.requestRead(uid),
      unmountVolumes: (uid, signal) => this.#volumes.unmount(uid, signal),
      cgroups: {
        list: () => this.#cgroups.list(),
        remove: (uid) => this.#cgroups.removeByUid(uid),
      },
      onGone: () => this.loop.requestHousekeeping(),
    });
  }

  #createWorkers(): PodWorkers {
    const deps = createNodeDeps({
      ports: this.#ports,
      settings: this.#settings,
      lifetime: this.#signal,
      objects: this.intake.objects,
      cluster: this.cluster,
      images: this.images,
      events: this.memory.events,
      allocations: this.allocations,
      statuses: this.#statuses,
      prober: this.prober,
      crashLoop: this.memory.crashLoop,
      cgroups: this.#cgroups,
      volumes: this.#volumes,
      recorder: this.memory.recorder,
      health: this.health,
      requestRead: (uid) => this.observer.requestRead(uid),
      readPod: (uid, signal) => this.#readPod(uid, signal),
    });
    return createWorkers({
      ports: this.#ports,
      settings: this.#settings,
      deps,
      cache: this.#cache,
      events: this.memory.events,
      enqueue: (uid, delayMs) => this.#enqueue(uid, delayMs),
      allocatedPod: (pod) => this.allocations.allocatedPod(pod),
      onWorked: (operation, ms) => this.#metrics.noteWork(operation, ms),
      onFinished: () => this.#afterFinish(),
    });
  }

  #enqueue(uid: string, delayMs: number): void {
    const pod = this.#registry.get(uid);
    const ms = pod === undefined ? delayMs : this.#statuses.lookAgainInMs(pod, delayMs);
    this.#queue.enqueue(uid, ms);
    this.loop.wake();
  }

  // The name of the finished pod is free: whoever waits for it must hear of that.
  #afterFinish(): void {
    for (const { metadata } of this.#registry.list()) {
      if (this.workers.stateOf(metadata.uid) === "wait-to-start") {
        this.loop.requestSync(metadata.uid);
      }
    }
    this.allocations.noteEnded();
    this.loop.requestHousekeeping();
  }

  #createIntake(): SourceIntake {
    const { sources, clock, log } = this.#ports;
    return new SourceIntake({
      sources: this.cluster === undefined ? sources : [...sources, this.cluster.source],
      restore: (pod, source) => this.memory.restore(pod, source),
      clock,
      log,
      events: this.memory.events,
      deliver: (update) => this.loop.deliver(update),
      onObjects: () => this.syncAll(),
    });
  }

  #createLoop(): SyncLoop {
    const { clock, log } = this.#ports;
    return new SyncLoop({
      registry: this.#registry,
      workers: this.workers,
      queue: this.#queue,
      clock,
      log,
      admit: (pod) => this.#admission.admit(pod),
      runtimeProblem: () => this.health.problem,
      housekeep: () => this.#housekeep(),
      whenClean: (uid) => this.#remains.whenRemoved(uid) ?? this.#admission.whenRoom(uid),
      allocations: this.allocations,
      onAdded: (pod) => {
        this.#metrics.noteNewPod(pod);
        this.view.noteChange("ADDED", pod);
      },
      onRemoved: (pod) => this.view.noteRemoved(pod),
      onShown: (pod) => this.cluster?.noteShown(pod),
    });
  }

  #createAdmission(): PodAdmission {
    const { clock, log } = this.#ports;
    return new PodAdmission({
      registry: this.#registry,
      workers: this.workers,
      statuses: this.#statuses,
      facts: () => ({ ...this.#settings, node: this.cluster?.node ?? this.#settings.node }),
      allocations: this.allocations,
      clock,
      log,
      events: this.memory.events,
      lifetime: this.#signal,
      isHere: (uid) => this.observer.pods.has(uid),
    });
  }

  async #housekeep(): Promise<void> {
    const ready = this.runtimeListed && this.intake.seenAllSources(this.loop.handledSources);
    await housekeep({
      registry: this.#registry,
      workers: this.workers,
      statuses: {
        keepOnly: (uids) => {
          this.#statuses.keepOnly(uids);
          this.allocations.keepOnly(uids);
          this.cluster?.keepOnly(uids);
        },
      },
      remains: this.#remains,
      probes: this.prober,
      ready: () => ready,
      runtimePods: () => this.observer.pods,
      isActive: (pod) => this.#admission.isActive(pod) && !this.#admission.waitsForRoom(pod),
    });
    if (!ready) return;
    this.cluster?.lookAtMirrors();
    this.memory.crashLoop.prune();
    const isLeft = (uid: string): boolean =>
      this.workers.stateOf(uid) !== undefined ||
      this.observer.pods.has(uid) ||
      this.#remains.isRemoving(uid);
    // Also of pods that went while no agent ran: nobody sees those leave.
    const unknown = this.memory.checkpoints.uids.filter(
      (uid) => this.#registry.get(uid) === undefined,
    );
    const gone = [...this.view.forgetGone(isLeft), ...unknown.filter((uid) => !isLeft(uid))];
    for (const uid of new Set(gone)) {
      this.#cache.delete(uid);
      this.memory.forget(uid);
      this.#metrics.forget(uid);
    }
  }
}
