import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { linuxCommands } from "../../../src/drivers/linux/commands.ts";
import { hostFiles } from "../../../src/drivers/linux/host-files.ts";
import { HungPaths } from "../../../src/drivers/linux/hung-paths.ts";
import { linuxMounts } from "../../../src/drivers/linux/mounts.ts";
import { payloadFiles } from "../../../src/drivers/linux/payload-files.ts";
import { systemClock } from "../../../src/drivers/linux/system-clock.ts";
import { PodRegistry } from "../../../src/engine/pods/pod-registry.ts";
import { PodTable } from "../../../src/engine/pods/pod-table.ts";
import { ContainerVolumes } from "../../../src/engine/volumes/container-volumes.ts";
import type { StorageManager } from "../../../src/engine/volumes/storage-manager.ts";
import { removeVolumeFolders } from "../../../src/engine/volumes/tear-down.ts";
import { VolumeStates } from "../../../src/engine/volumes/volume-states.ts";
import { VolumeUsage } from "../../../src/engine/volumes/volume-usage.ts";
import { MetricsRegistry } from "../../../src/lib/metrics-registry.ts";
import { err, ok, type Result } from "../../../src/lib/result.ts";
import type {
  ConfigMap,
  PodSpec,
  Secret,
  Volume,
} from "../../../src/model/generated/kubernetes.ts";
import { metricDefinitions } from "../../../src/model/generated/metrics.ts";
import type { PodUid } from "../../../src/model/ids.ts";
import type { LookUpFailure } from "../../../src/model/look-up-failure.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { ForeignFiles } from "../../../src/ports/foreign-files.ts";
import { testForeignFiles } from "../../kit/foreign-files-program.ts";
import { buildPod } from "../../kit/pods.ts";
import { silentLog } from "../../kit/silent-log.ts";
import { startTestStorage } from "../../kit/test-storage.ts";
import { makeTestFolder } from "./test-folder.ts";

export const never: AbortSignal = new AbortController().signal;

/** A volume manager of this machine with a data folder of its own, and its inputs and reports. */
export class VolumeWorld implements AsyncDisposable {
  readonly configMaps: Map<string, ConfigMap> = new Map();
  readonly secrets: Map<string, Secret> = new Map();
  readonly events: string[] = [];
  readonly metrics: MetricsRegistry = new MetricsRegistry(metricDefinitions);
  readonly folder: string;
  readonly hungPaths: HungPaths = new HungPaths(Date.now);
  readonly foreignFiles: ForeignFiles = testForeignFiles(this.hungPaths);
  #table = new PodTable();
  #storage: StorageManager | undefined;
  #end = new AbortController();
  #registry = new PodRegistry(this.#table);
  readonly #mounts = linuxMounts(this.hungPaths, linuxCommands(this.hungPaths));

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<VolumeWorld> {
    return new VolumeWorld(makeTestFolder("volumes"));
  }

  get root(): string {
    return join(this.folder, "root");
  }

  /** As after a restart of the agent: only the disk is remembered. */
  manager(): StorageManager {
    this.#end.abort();
    this.#end = new AbortController();
    this.#table = new PodTable();
    this.#registry = new PodRegistry(this.#table);
    const storage = startTestStorage({
      states: new VolumeStates(this.#table),
      table: this.#table,
      rootFolder: this.root,
      files: hostFiles,
      payloadFiles,
      foreignFiles: this.foreignFiles,
      mounts: this.#mounts,
      objects: {
        configMap: (_, name) => lookUp("configmap", this.configMaps, name),
        secret: (_, name) => lookUp("secret", this.secrets, name),
      },
      tokens: undefined,
      trustBundles: undefined,
      podCertificates: undefined,
      allocatable: { memory: "1Gi" },
      events: { record: (_, { message }) => void this.events.push(message) },
      log: silentLog,
      metrics: this.metrics,
      clock: systemClock,
      lifetime: this.#end.signal,
      workerStates: {
        shouldPodContainersBeTerminating: (uid) => !this.#isWanted(uid),
        shouldPodRuntimeBeRemoved: (uid) => !this.#isWanted(uid),
      },
    });
    this.#storage = storage;
    return storage;
  }

  /** What containers get of the volumes of the manager that was made last. */
  containerVolumes(): ContainerVolumes {
    return new ContainerVolumes({
      storage: this.#newest(),
      rootFolder: this.root,
      foreignFiles: this.foreignFiles,
      log: silentLog,
      lifetime: never,
    });
  }

  /** The pod's volumes are to be mounted, and it waits for them. */
  async mount(pod: Pod): Promise<Result<void, string>> {
    const manager = this.#newest();
    this.want(pod);
    const mounted = await manager.mount(pod, never);
    return mounted.ok ? mounted : err(mounted.error.message);
  }

  /** The pod has ended, and nothing of its volumes is to be left. */
  async unmount(uid: PodUid): Promise<void> {
    const pod = this.#table.get(uid)?.wanted;
    if (pod !== undefined) this.#registry.remove(pod);
    const unmounted = await this.#newest().remove(uid, never);
    if (!unmounted.ok) throw new Error(unmounted.error);
    const deps = {
      rootFolder: this.root,
      files: hostFiles,
      foreignFiles: this.foreignFiles,
      mounts: this.#mounts,
    };
    await removeVolumeFolders(deps, uid, never);
  }

  #newest(): StorageManager {
    return this.#storage ?? this.manager();
  }

  #isWanted(uid: PodUid): boolean {
    return this.#table.get(uid)?.wanted !== undefined;
  }

  /** A source wants the pod. */
  want(pod: Pod): void {
    this.#registry.set(pod);
  }

  /** Measures the volumes of wanted pods every second. */
  usage(): VolumeUsage {
    return new VolumeUsage({
      foreignFiles: this.foreignFiles,
      clock: systemClock,
      log: silentLog,
      metrics: this.metrics,
      table: this.#table,
      volumes: this.containerVolumes(),
      storageStats: { read: async () => new Map() },
      periodMs: 1000,
    });
  }

  async mounts(): Promise<readonly string[]> {
    const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
    return lines
      .map((line) => line.split(" ")[4] ?? "")
      .filter((path) => path.startsWith(this.folder));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    for (const path of (await this.mounts()).toReversed()) await this.#mounts.unmount(path, never);
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A pod with one container that mounts every volume. */
export function podWith(volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  return buildPod({
    metadata: { name: "web", namespace: "default", uid: "uid-1", labels: { app: "web" } },
    spec: {
      containers: [
        {
          name: "main",
          volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` })),
        },
      ],
      volumes,
      ...spec,
    },
  });
}

function lookUp<T>(
  kind: string,
  objects: ReadonlyMap<string, T>,
  name: string,
): Result<T, LookUpFailure> {
  const found = objects.get(name);
  if (found !== undefined) return ok(found);
  return err({ code: "not-found", message: `${kind} "${name}" not found` });
}
