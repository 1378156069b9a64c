// The volume manager with its own loops, a driver that answers as a test says, and time that moves only when nothing runs.
import { onTestFinished } from "vitest";
import { csiPluginName } from "../../src/core/storage/csi/csi-volume.ts";
import type { SeLinuxNode } from "../../src/core/storage/selinux-label.ts";
import type { StorageError } from "../../src/core/storage/storage-error.ts";
import { type VolumeSpec, volumeSpecName } from "../../src/core/storage/volume-spec.ts";
import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { SimMounts } from "../../src/drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../src/drivers/sim/sim-payload-files.ts";
import { PodTable, type SliceWriter } from "../../src/engine/pods/pod-table.ts";
import { withWait } from "../../src/engine/status/show-waits.ts";
import { BlockMaps } from "../../src/engine/volumes/block-maps.ts";
import type { Claims } from "../../src/engine/volumes/claims.ts";
import { FoundVolumes } from "../../src/engine/volumes/found-volumes.ts";
import { StorageManager } from "../../src/engine/volumes/storage-manager.ts";
import type { StoragePlugin } from "../../src/engine/volumes/storage-plugin.ts";
import { VolumeExpansion } from "../../src/engine/volumes/volume-expansion.ts";
import { VolumeOperations } from "../../src/engine/volumes/volume-operations.ts";
import { VolumeReconciler } from "../../src/engine/volumes/volume-reconciler.ts";
import { VolumeStates } from "../../src/engine/volumes/volume-states.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../src/model/generated/kubernetes.ts";
import { containerId, type PodUid } from "../../src/model/ids.ts";
import { emptyObservedPod, type ObservedContainer } from "../../src/model/observed.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { PodEvent } from "../../src/ports/pod-events.ts";
import { VirtualClock } from "../sim/virtual-clock.ts";
import { MemoryBlockDevices, WorldFiles } from "../vectors/volume-files.ts";
import { noMetrics } from "./no-metrics.ts";
import { buildPod } from "./pods.ts";
import { silentLog } from "./silent-log.ts";

const rootFolder = "/data";
export const driverName = "driver.example.com";

/** The name under which the node knows the volume of a claim. */
export function volumeNameOf(claim: string): string {
  return `${csiPluginName}/${driverName}^${claim}`;
}

export class StorageWorld {
  readonly clock: VirtualClock = new VirtualClock();
  /** What the driver was asked for: "setUp claim". */
  readonly calls: string[] = [];
  readonly events: PodEvent[] = [];
  readonly manager: StorageManager;
  readonly ended: Set<PodUid> = new Set();
  /** What the driver answers instead of success, by call. */
  readonly answers: Map<string, () => Promise<Result<never, StorageError>>> = new Map();
  /** Claims that are not there. */
  readonly missing: Set<string> = new Set();
  /** What volumes and their claims have, unless it is 1Gi, and how far the controller and the node are with claims. */
  readonly sizes: Map<string, ClaimSizes> = new Map();
  /** How often claims were read. */
  claimReads = 0;
  /** Pods that only read their claims. */
  readonly readers: Set<string> = new Set();
  /** Claims whose read does not end. */
  readonly unread: Set<string> = new Set();
  attached: ReadonlyMap<string, string> | undefined = new Map();
  /** What the agent before reported as in use. */
  readonly inherited: readonly string[] = [];
  /** Claims whose volumes are staged. */
  readonly staged: readonly string[] = [];
  /** Claims of which nothing but the folder is left. */
  readonly takenDown: Set<string> = new Set();
  readonly mounts: SimMounts = new SimMounts();
  /** Undefined = SELinux is not enabled. With it, the driver mounts with a context. */
  readonly seLinux: SeLinuxNode | undefined;
  /** The context that the record of a staged volume has. */
  readonly stagedLabel: string = "";
  areSourcesReady = true;
  /** Something on the node holds the devices. */
  areDevicesHeld = false;
  nodeUpdates = 0;
  readonly #files = new UnlistedFiles();
  readonly #table = new PodTable();
  readonly #stop = new AbortController();
  readonly #wanted: SliceWriter<"wanted">;
  readonly #observed: SliceWriter<"observed">;
  readonly #running: Promise<unknown>;

  /** It ends with the test. `onDisk`: the claims that a past agent mounted for pods, as "uid claim". */
  static async open(
    onDisk: readonly string[] = [],
    change: Partial<StorageWorld> = {},
  ): Promise<StorageWorld> {
    const world = new StorageWorld(onDisk, change);
    onTestFinished(() => world.close());
    await world.settle();
    return world;
  }

  private constructor(onDisk: readonly string[], change: Partial<StorageWorld>) {
    Object.assign(this, change);
    for (const found of onDisk) {
      const [uid, claim] = found.split(" ");
      void this.#files.ensureFolder(`${rootFolder}/pods/${uid}/volumes/kubernetes.io~csi/${claim}`);
    }
    const table = this.#table;
    this.#wanted = table.writer("wanted");
    this.#observed = table.writer("observed");
    this.manager = this.#construct(table);
    const { signal } = this.#stop;
    this.#running = Promise.all([this.manager.run(signal), this.manager.runResolve(signal)]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Lets everything happen that waits for no time. */
  settle(): Promise<void> {
    return this.clock.advance(0);
  }

  /** The pod is wanted from now on, with these claims. */
  add(uid: string, ...claims: readonly string[]): Pod {
    return this.addLabelled(uid, undefined, ...claims);
  }

  /** One whose containers have that SELinux level. */
  addLabelled(uid: string, level: string | undefined, ...claims: readonly string[]): Pod {
    const pod = buildPod({
      metadata: { uid },
      spec: {
        securityContext: level === undefined ? undefined : { seLinuxOptions: { level } },
        containers: [
          { name: "c", volumeMounts: claims.map((name) => ({ name, mountPath: name })) },
        ],
        volumes: claims.map((name) => ({
          name,
          persistentVolumeClaim: { claimName: name, readOnly: this.readers.has(uid) },
        })),
      },
    });
    this.#wanted.set(pod.metadata.uid, pod);
    this.manager.requestLook();
    return pod;
  }

  /** Of a pod that is Pending. */
  shownMessage({ metadata: { uid } }: Pod): string | undefined {
    return withWait({ phase: "Pending" }, this.#table.get(uid) ?? {}).message;
  }

  /** The runtime has a container of the pod. */
  observe({ metadata: { uid, name, namespace } }: Pod, state: ObservedContainer["state"]): void {
    const container: ObservedContainer = {
      id: containerId("containerd://c"),
      name: "c",
      state,
      exitCode: 0,
      image: "",
      imageId: "",
      imageRef: "",
      hash: "",
      restartCount: 0,
      reason: "",
      message: "",
    };
    const observed = { ...emptyObservedPod(uid, name, namespace), containers: [container] };
    this.#observed.set(uid, { state: observed });
    this.manager.requestLook();
  }

  /** Its containers have ended, and no source wants it. */
  remove({ metadata: { uid } }: Pod): void {
    this.ended.add(uid);
    this.#wanted.set(uid, undefined);
    this.manager.requestLook();
  }

  /** The node's status reports what is in use, and the controller attaches it. */
  attach(): void {
    const names = this.manager.volumesInUse() ?? [];
    this.attached = new Map(names.map((name) => [name, "/dev/x"]));
    this.manager.noteReportedInUse(names);
    this.manager.requestLook();
  }

  async #call<T>(call: string, value: T): Promise<Result<T, StorageError>> {
    this.calls.push(call);
    return (await this.answers.get(call)?.()) ?? ok(value);
  }

  #plugin(): StoragePlugin {
    return {
      name: csiPluginName,
      requiresRemount: () => false,
      device: {
        isAttachable: () => ok(true),
        isMountable: () => true,
        waitForAttach: ({ spec }) => this.#call(`waitForAttach ${volumeSpecName(spec)}`, "/dev/x"),
        mountPath: (spec) => ok(`${rootFolder}/plugins/${volumeSpecName(spec)}`),
        mountDevice: ({ spec, seLinuxLabel = "" }) =>
          this.#call(`mountDevice ${volumeSpecName(spec)} ${seLinuxLabel}`.trim(), undefined),
        unmountDevice: (path) =>
          this.#call(`unmountDevice ${path.slice(path.lastIndexOf("/") + 1)}`, undefined),
        find: async () =>
          this.staged.map((name) => ({
            path: `${rootFolder}/plugins/${name}`,
            volume: found(name),
            seLinuxMountContext: this.stagedLabel,
          })),
      },
      setUp: ({ spec, reconstructed }) => {
        const path = `${rootFolder}/${volumeSpecName(spec)}`;
        const again = reconstructed ? " again" : "";
        const stored = { path, readOnly: false, managed: true, seLinuxRelabel: false };
        return this.#call(`setUp ${volumeSpecName(spec)}${again}`, stored);
      },
      expand: ({ spec }) => this.#call(`expand ${volumeSpecName(spec)}`, undefined),
      tearDown: ({ volumeSpecName: name }) => this.#call(`tearDown ${name}`, undefined),
      isTakenDown: async ({ volumeSpecName: name }) => this.takenDown.has(name),
      reconstruct: async ({ volumeSpecName: name }) => {
        const spec = found(name);
        return spec.ok ? ok({ spec: spec.value, seLinuxMountContext: this.stagedLabel }) : spec;
      },
    };
  }

  #claims(): Claims {
    return {
      origin: "API server",
      claim: async (_, name) => {
        if (this.unread.has(name)) await new Promise(() => undefined);
        this.claimReads += 1;
        return this.missing.has(name)
          ? err(`${name} not found`)
          : ok(claimOf(name, this.sizes.get(name)));
      },
      persistentVolume: async (name) => ok(volumeOf(name, this.sizes.get(name))),
      csiDriver: () => (this.seLinux === undefined ? undefined : { spec: { seLinuxMount: true } }),
      patchStatus: async (claim) => claim,
      record: () => undefined,
      recordVolume: () => undefined,
    };
  }

  #construct(table: PodTable): StorageManager {
    const { clock } = this;
    const states = new VolumeStates(table);
    const claims = this.#claims();
    const events = { record: (_: unknown, event: PodEvent) => void this.events.push(event) };
    const plugins = new Map([[csiPluginName, this.#plugin()]]);
    const { mounts } = this;
    const files = this.#files;
    const foreignFiles = new WorldFiles(files, new SimPayloadFiles(), mounts);
    foreignFiles.isDeviceHeld = () => Promise.resolve(this.areDevicesHeld);
    const devices = new MemoryBlockDevices(files);
    const disk = { rootFolder, files, foreignFiles, mounts };
    const blockMaps = new BlockMaps({ ...disk, devices, commands: devices });
    const attached = (): StorageWorld["attached"] => this.attached;
    const attachments = {
      byController: true,
      reportedInUse: this.inherited,
      get attached() {
        return attached();
      },
    };
    const shared = { states, attachments, metrics: noMetrics, log: silentLog };
    const operations = new VolumeOperations({
      ...shared,
      ...disk,
      expansion: new VolumeExpansion({ states, claims, events, clock }),
      nodeLabels: { labels: {} },
      blockMaps,
      events,
      plugins,
      claims,
    });
    const lifetime = this.#stop.signal;
    const areReady = (): boolean => this.areSourcesReady;
    return new StorageManager({
      table,
      workerStates: {
        shouldPodContainersBeTerminating: (uid) => this.ended.has(uid),
        shouldPodRuntimeBeRemoved: (uid) => this.ended.has(uid),
      },
      sources: {
        get areAllReady() {
          return areReady();
        },
      },
      states,
      reconciler: new VolumeReconciler({ ...shared, operations, events, clock, lifetime }),
      found: new FoundVolumes({ ...shared, rootFolder, files, mounts, plugins, blockMaps }),
      claims,
      allocatable: undefined,
      clock,
      metrics: noMetrics,
      settings: { runtimeSettings: { seLinux: this.seLinux } },
      wakeups: {
        updateNode: () => {
          this.nodeUpdates += 1;
        },
      },
    });
  }
}

function found(name: string): Result<VolumeSpec, StorageError> {
  if (name.startsWith("unreadable")) return err({ kind: "final", message: "cannot be read" });
  const persistentVolume = volumeOf(name);
  return ok({ source: "persistentVolume", persistentVolume, readOnly: false });
}

/** The folder of a pod that has a volume called so cannot be read. */
class UnlistedFiles extends MemoryFiles {
  override async list(path: string): Promise<readonly string[]> {
    const names = await super.list(path);
    if (names.includes("unlisted")) throw new Error(`scandir ${path}: input/output error`);
    return names;
  }
}

interface ClaimSizes {
  readonly volume: string;
  readonly claim: string;
  readonly resizeStatus: string;
}

const usualSizes: ClaimSizes = { volume: "1Gi", claim: "1Gi", resizeStatus: "" };

function claimOf(name: string, sizes: ClaimSizes = usualSizes): PersistentVolumeClaim {
  const { volume, claim, resizeStatus } = sizes;
  const growing = {
    allocatedResources: { storage: volume },
    allocatedResourceStatuses: { storage: resizeStatus },
  };
  return {
    metadata: { name, namespace: "default", uid: name },
    spec: { volumeName: name },
    status: {
      phase: "Bound",
      capacity: { storage: claim },
      ...(resizeStatus === "" ? {} : growing),
    },
  };
}

/** Volumes are called as their claims are. */
function volumeOf(name: string, { volume: storage } = usualSizes): PersistentVolume {
  return {
    metadata: { name },
    spec: {
      capacity: { storage },
      claimRef: { namespace: "default", name, uid: name },
      csi: { driver: driverName, volumeHandle: name },
      volumeMode: "Filesystem",
    },
  };
}
