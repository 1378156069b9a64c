// A volume manager with drivers, files and mounts in memory, whose two loops run at the times at which upstream's do.
import { createHash } from "node:crypto";
import { isBlockVolume, volumeSpecName } from "../../src/core/storage/volume-spec.ts";
import type { NodeVolume, PodMount } from "../../src/core/storage/volume-state.ts";
import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { SimMounts } from "../../src/drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../src/drivers/sim/sim-payload-files.ts";
import { CsiNode } from "../../src/engine/node/csi-node.ts";
import { CsiAllocatable } from "../../src/engine/plugins/csi-allocatable.ts";
import { CsiDriverRegistry } from "../../src/engine/plugins/csi-driver-registry.ts";
import { PodTable, type SliceWriter } from "../../src/engine/pods/pod-table.ts";
import { BlockMaps } from "../../src/engine/volumes/block-maps.ts";
import { CsiClients } from "../../src/engine/volumes/csi/csi-calls.ts";
import { csiPlugin } from "../../src/engine/volumes/csi/csi-plugin.ts";
import { folderPlugin } from "../../src/engine/volumes/folder-plugin.ts";
import { FoundVolumes } from "../../src/engine/volumes/found-volumes.ts";
import { StorageManager } from "../../src/engine/volumes/storage-manager.ts";
import { VolumeExpansion } from "../../src/engine/volumes/volume-expansion.ts";
import { VolumeOperations } from "../../src/engine/volumes/volume-operations.ts";
import { volumePlugins } from "../../src/engine/volumes/volume-plugins.ts";
import { VolumeReconciler } from "../../src/engine/volumes/volume-reconciler.ts";
import { VolumeStates } from "../../src/engine/volumes/volume-states.ts";
import { compareText } from "../../src/lib/compare-text.ts";
import { type PodUid, podUid } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { Metrics } from "../../src/ports/metrics.ts";
import type { PodEvent } from "../../src/ports/pod-events.ts";
import { silentLog } from "../kit/silent-log.ts";
import { settle, VirtualClock } from "../sim/virtual-clock.ts";
import { byName, withoutNulls } from "./encodings.ts";
import { type ScriptedResults, VolumeDriver } from "./volume-driver.ts";
import { MemoryBlockDevices, WorldFiles } from "./volume-files.ts";
import { type PutStep, VolumeObjects, type VolumeObjectsInput } from "./volume-objects.ts";

export interface VolumeWorldInput extends VolumeObjectsInput {
  readonly registeredDrivers: readonly {
    readonly name: string;
    readonly capabilities?: readonly string[];
  }[];
  readonly steps: readonly VolumeWorldStep[];
}

export interface VolumeWorldStep extends ScriptedResults, PutStep {
  readonly op: string;
  readonly pod?: Pod;
  readonly uid?: string;
  readonly seconds?: number;
  readonly cancelAfterSeconds?: number;
  readonly sourcesReadyAfterSeconds?: number;
  readonly driver?: string;
  readonly path?: string;
  readonly volumesAttached?: readonly { readonly name: string; readonly devicePath: string }[];
}

const rootFolder = "/var/lib/kubelet";
const resolveEveryMs = 100;
const reconcileAfterMs = 50;
const pollMs = 300;
const waitLimitMs = 123_000;
/** Upstream's stop takes this long. */
const stopMs = 400;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** What runs between the start and the stop of an agent. */
interface Agent {
  readonly manager: StorageManager;
  readonly states: VolumeStates;
  readonly wanted: SliceWriter<"wanted">;
  readonly stop: AbortController;
  /** Of its first turn of the loops. */
  readonly startMs: number;
  readonly sourcesReadyMs: number;
}

export class VolumeWorld {
  readonly #clock = new VirtualClock();
  readonly #objects: VolumeObjects;
  readonly #registry = new CsiDriverRegistry();
  readonly #drivers = new Map<string, VolumeDriver>();
  readonly #memory = new MemoryFiles();
  readonly #mounts = new SimMounts();
  readonly #payloads = new SimPayloadFiles();
  readonly #pods = new Map<PodUid, Pod>();
  readonly #known = new Map<PodUid, Pod>();
  readonly #terminating = new Set<PodUid>();
  readonly #removed = new Set<PodUid>();
  /** By name and labels. */
  readonly counts: Map<string, number> = new Map();
  #events: { readonly at: number; readonly object: string }[] = [];
  #agent: Agent | undefined;
  /** The loops have had their turns up to here. */
  #doneMs = -1;

  constructor(input: VolumeWorldInput) {
    this.#objects = new VolumeObjects(input);
    for (const { name, capabilities = [] } of input.registeredDrivers) {
      this.#drivers.set(
        name,
        new VolumeDriver({ name, capabilities }, this.#clock, this.#memory, this.#mounts),
      );
      this.#register(name);
    }
  }

  async open(): Promise<void> {
    await this.#start(0);
    await this.#advanceTo(75);
  }

  close(): void {
    this.#agent?.stop.abort();
  }

  async step(step: VolumeWorldStep): Promise<object> {
    const { op } = step;
    const uid = podUid(step.uid ?? "");
    switch (op) {
      case "run":
        await this.#advanceTo(this.#nowMs() + (step.seconds ?? 0) * 1000);
        return { op, ...this.#show() };
      case "waitForAttachAndMount": {
        const pod = this.#pods.get(uid);
        const { manager } = this.#running();
        if (pod === undefined) return { op, elapsedSeconds: 0, ...this.#show() };
        return { op, ...(await this.#wait(step, (signal) => manager.mount(pod, signal))) };
      }
      case "waitForUnmount": {
        const { manager } = this.#running();
        return { op, ...(await this.#wait(step, (signal) => manager.unmount(uid, signal))) };
      }
      case "syncNodeStatus": {
        const { manager } = this.#running();
        const volumesInUse = manager.volumesInUse() ?? [];
        manager.noteReportedInUse(volumesInUse);
        return { op, volumesInUse };
      }
      default:
        await this.#act(step, uid);
        return { op };
    }
  }

  async #act(step: VolumeWorldStep, uid: PodUid): Promise<void> {
    switch (step.op) {
      case "addPod": {
        const pod = withoutNulls(step.pod) as Pod;
        this.#pods.set(pod.metadata.uid, pod);
        this.#known.set(pod.metadata.uid, pod);
        this.#agent?.wanted.set(pod.metadata.uid, pod);
        this.#agent?.states.setPod(pod.metadata.uid, { asked: "mount" });
        return;
      }
      case "deletePod":
        this.#pods.delete(uid);
        this.#agent?.wanted.set(uid, undefined);
        return;
      case "markTerminating":
        this.#terminating.add(uid);
        return;
      case "markRuntimeRemoved":
        this.#removed.add(uid);
        return;
      case "setVolumesAttached":
        this.#objects.attached = new Map(
          (step.volumesAttached ?? []).map(({ name, devicePath }) => [name, devicePath]),
        );
        return;
      case "driverResults":
        this.#drivers.get(step.driver ?? "")?.script(step);
        return;
      case "registerDriver":
        this.#register(step.driver ?? "");
        return;
      case "unregisterDriver":
        this.#registry.delete(step.driver ?? "");
        return;
      case "removeFile":
        await this.#memory.removeTree(`${rootFolder}/${step.path}`);
        return;
      case "stopKubelet":
        this.#agent?.stop.abort();
        this.#agent = undefined;
        return;
      case "startKubelet": {
        const startMs = Math.ceil((this.#nowMs() + stopMs) / 100) * 100;
        await this.#clock.advance(startMs - this.#nowMs());
        await this.#start((step.sourcesReadyAfterSeconds ?? 0) * 1000);
        await this.#advanceTo(startMs + 75);
        return;
      }
      default:
        this.#objects.put(step);
    }
  }

  #register(name: string): void {
    this.#registry.set(name, { endpoint: name, version: { components: [1n, 0n, 0n] } });
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }

  #running(): Agent {
    if (this.#agent === undefined) throw new Error("the agent does not run");
    return this.#agent;
  }

  async #start(sourcesReadyAfterMs: number): Promise<void> {
    const startMs = this.#nowMs();
    const table = new PodTable();
    const wanted = table.writer("wanted");
    for (const [uid, pod] of this.#pods) wanted.set(uid, pod);
    const stop = new AbortController();
    const sourcesReadyMs = startMs + sourcesReadyAfterMs;
    const clock = this.#clock;
    const parts = this.#construct(table, stop.signal);
    const { states, reconciler, found, claims, allocatable } = parts;
    for (const uid of this.#pods.keys()) states.setPod(uid, { asked: "mount" });
    const manager = new StorageManager({
      table,
      workerStates: {
        shouldPodContainersBeTerminating: (uid) => this.#terminating.has(uid),
        shouldPodRuntimeBeRemoved: (uid) => this.#removed.has(uid),
      },
      sources: {
        get areAllReady() {
          return clock.monotonicMs() >= sourcesReadyMs;
        },
      },
      states,
      reconciler,
      found,
      claims,
      allocatable,
      clock,
      metrics: this.#metrics(),
      settings: { runtimeSettings: { seLinux: undefined } },
      wakeups: { updateNode: () => undefined },
    });
    this.#agent = { manager, states, wanted, stop, startMs, sourcesReadyMs };
    this.#doneMs = startMs - 1;
    await found.find(stop.signal);
    for (const [uid, { asked }] of states.pods()) {
      if (asked === undefined) states.setPod(uid, { asked: "unmount" });
    }
  }

  #construct(table: PodTable, lifetime: AbortSignal) {
    const clock = this.#clock;
    const log = silentLog;
    const metrics = this.#metrics();
    const claims = this.#objects.claims((object, event) => this.#record(object, event));
    const attachments = this.#objects;
    const mounts = this.#mounts;
    const files = this.#memory;
    const foreignFiles = new WorldFiles(this.#memory, this.#payloads, mounts);
    const drivers = {
      connect: (endpoint: string) => this.#drivers.get(endpoint) as VolumeDriver,
    };
    const events = {
      record: ({ metadata }: { metadata: { namespace: string; name: string } }, event: PodEvent) =>
        this.#record(`Pod ${metadata.namespace}/${metadata.name}`, event),
    };
    const csi = csiPlugin({
      names: { rootFolder, nodeName: this.#objects.nodeName, sha256 },
      clients: new CsiClients({ drivers, registry: this.#registry, metrics, clock }),
      objects: this.#objects.csiObjects,
      tokens: undefined,
      files,
      foreignFiles,
      mounts,
      events,
      clock,
      log,
    });
    const folderDeps = {
      rootFolder,
      files,
      payloadFiles: this.#payloads,
      foreignFiles,
      mounts,
      objects: this.#objects,
      tokens: undefined,
      trustBundles: undefined,
      podCertificates: undefined,
      allocatable: {},
    };
    // A kubelet looks for volumes in the folders of pods alone: one that is only staged it forgets.
    const device = csi.device && { ...csi.device, find: async () => [] };
    const asKubelet = { ...csi, ...(device && { device }) };
    const all = [asKubelet, ...volumePlugins.map((plugin) => folderPlugin(folderDeps, plugin))];
    const plugins = new Map(all.map((plugin) => [plugin.name, plugin]));
    const devices = new MemoryBlockDevices(files);
    const blockMaps = new BlockMaps({
      rootFolder,
      devices,
      files,
      foreignFiles,
      mounts,
      commands: devices,
    });
    const states = new VolumeStates(table);
    const expansion = new VolumeExpansion({ states, claims, events, clock });
    const operations = new VolumeOperations({
      states,
      expansion,
      nodeLabels: this.#objects,
      blockMaps,
      events,
      rootFolder,
      mounts,
      foreignFiles,
      plugins,
      claims,
      attachments,
    });
    const shared = { states, attachments, metrics, log };
    const reconciler = new VolumeReconciler({ ...shared, operations, events, clock, lifetime });
    const found = new FoundVolumes({ ...shared, rootFolder, files, mounts, plugins, blockMaps });
    const registry = this.#registry;
    const { api, nodeName } = this.#objects;
    const csiNode = new CsiNode({ api, clock, log, random: () => 0.5, nodeName });
    const allocatable = new CsiAllocatable({
      api,
      clock,
      log,
      registry,
      drivers,
      csiNode,
      objects: { items: this.#objects.csiDrivers },
      nodeName,
      sha256,
    });
    return { states, reconciler, found, claims, allocatable };
  }

  /** Gives the loops their turns until then. */
  async #advanceTo(endMs: number): Promise<void> {
    await this.#turnUntil(endMs, () => false);
  }

  async #turnUntil(endMs: number, isDone: () => boolean): Promise<void> {
    for (;;) {
      if (isDone()) return;
      const next = this.#nextTurnMs();
      if (next === undefined || next > endMs) break;
      await this.#clock.advance(next - this.#nowMs());
      if (isDone()) return;
      await this.#turn(next);
      this.#doneMs = next;
    }
    await this.#clock.advance(endMs - this.#nowMs());
    await settle();
  }

  #nextTurnMs(): number | undefined {
    if (this.#agent === undefined) return undefined;
    const { startMs } = this.#agent;
    const sinceMs = Math.max(0, this.#doneMs - startMs + 1);
    return startMs + Math.max(50, Math.ceil(sinceMs / reconcileAfterMs) * reconcileAfterMs);
  }

  async #turn(ms: number): Promise<void> {
    const { manager, stop, startMs } = this.#running();
    if ((ms - startMs) % resolveEveryMs === 0) await manager.resolve(stop.signal);
    else manager.reconcile(stop.signal);
    await settle();
  }

  async #wait(
    { cancelAfterSeconds }: VolumeWorldStep,
    start: (signal: AbortSignal) => Promise<{ readonly ok: boolean; readonly error?: unknown }>,
  ): Promise<object> {
    const startMs = this.#nowMs();
    const limitMs = Math.min((cancelAfterSeconds ?? Number.POSITIVE_INFINITY) * 1000, waitLimitMs);
    const cancel = new AbortController();
    let endedMs: number | undefined;
    const waiting = start(cancel.signal).finally(() => {
      endedMs = this.#nowMs();
    });
    await settle();
    await this.#turnUntil(startMs + limitMs, () => endedMs !== undefined);
    if (endedMs === undefined && limitMs < waitLimitMs) cancel.abort();
    const result = await waiting;
    const lastedMs = (endedMs ?? this.#nowMs()) - startMs;
    const elapsedMs = Math.min(Math.ceil(lastedMs / pollMs) * pollMs, limitMs);
    await this.#advanceTo(startMs + elapsedMs);
    return { elapsedSeconds: elapsedMs / 1000, ...shownProblem(result), ...this.#show() };
  }

  #record(object: string, { type, reason, message }: PodEvent): void {
    const event = { at: Math.floor(this.#nowMs() / 100) / 10, object, type, reason, message };
    this.#events.push(event);
  }

  #show(): object {
    const { manager, states } = this.#running();
    const events = this.#events;
    this.#events = [];
    const calls = [...this.#drivers.values()].flatMap((driver) => driver.takeCalls());
    return {
      calls: calls.toSorted((a, b) => compareText(a.volume, b.volume)).map(({ call }) => call),
      events,
      volumesInUse: states.volumesInUse(),
      statesSynced: manager.isSynced,
      attached: states.volumes().map(shownVolume),
      mounted: [...states.pods()].flatMap(([uid, { mounts }]) =>
        [...mounts].map(([name, mount]) => shownMount(uid, name, mount)),
      ),
      pods: Object.fromEntries([...this.#known].map(([uid, pod]) => [uid, this.#showPod(pod)])),
      claimStatusChanges: this.#objects.takeClaimChanges(),
    };
  }

  #showPod(pod: Pod): object {
    const { manager, states } = this.#running();
    const { uid } = pod.metadata;
    const { wanted, mounts } = states.pod(uid);
    const volumes: Record<string, unknown> = {};
    for (const [name, { outerVolumeSpecNames }] of wanted) {
      const mount = mounts.get(name);
      if (mount?.state !== "mounted") continue;
      for (const outer of outerVolumeSpecNames) volumes[outer] = shownPodVolume(mount);
    }
    const groups = manager.supplementalGroups(pod);
    return {
      possiblyMounted: manager.hasMounts(uid),
      volumes,
      ...(groups.length > 0 ? { extraSupplementalGroups: groups } : {}),
    };
  }

  #metrics(): Metrics {
    const count = (name: string, labels: Readonly<Record<string, string>> = {}, by = 1): void => {
      const key = JSON.stringify([name, byName(labels)]);
      this.counts.set(key, (this.counts.get(key) ?? 0) + by);
    };
    return {
      increment: count,
      set: () => undefined,
      observe: (name, _, labels) => count(name, labels),
      reset: () => undefined,
      drop: () => undefined,
    };
  }
}

function shownProblem({ error }: { readonly error?: unknown }): object {
  if (error === undefined) return {};
  if (typeof error === "string") return { error };
  const { message, isAttachLimitExceeded } = error as {
    readonly message: string;
    readonly isAttachLimitExceeded: boolean;
  };
  return { error: message, ...(isAttachLimitExceeded ? { attachLimitExceeded: true } : {}) };
}

const deviceStates = {
  mounted: "DeviceGloballyMounted",
  uncertain: "DeviceMountUncertain",
  "not-mounted": "DeviceNotMounted",
};

function shownVolume({ name, isAttachable, device, devicePath }: NodeVolume): object {
  return {
    volume: name,
    attachable: isAttachable === true,
    deviceMountState: deviceStates[device],
    devicePath,
    reportedAttached: true,
  };
}

function shownMount(pod: PodUid, volume: string, { state, spec }: PodMount): object {
  return {
    pod,
    volume,
    innerVolumeSpecName: volumeSpecName(spec),
    state: state === "mounted" ? "VolumeMounted" : "VolumeMountUncertain",
  };
}

function shownPodVolume({ spec, volume }: PodMount): object {
  const innerVolumeSpecName = volumeSpecName(spec);
  const readOnly = spec.source === "persistentVolume" && spec.readOnly;
  const path = volume?.path ?? "";
  if (!isBlockVolume(spec)) return { innerVolumeSpecName, path, readOnly };
  const podDeviceMapPath = path.slice(0, path.lastIndexOf("/"));
  const podDeviceName = path.slice(path.lastIndexOf("/") + 1);
  return { innerVolumeSpecName, podDeviceMapPath, podDeviceName, readOnly };
}
