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
import { VolumeManager } from "../../../src/engine/volumes/volume-manager.ts";
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
import type { LookUpFailure } from "../../../src/model/look-up-failure.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { ForeignFiles } from "../../../src/ports/foreign-files.ts";
import { testForeignFiles } from "../../kit/foreign-files-program.ts";
import { buildPod } from "../../kit/pods.ts";
import { silentLog } from "../../kit/silent-log.ts";
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
  manager(): VolumeManager {
    this.#table = new PodTable();
    this.#registry = new PodRegistry(this.#table);
    return new VolumeManager({
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
      allocatable: { memory: "1Gi" },
      events: { record: (_, { message }) => void this.events.push(message) },
      log: silentLog,
      metrics: this.metrics,
      clock: systemClock,
      lifetime: never,
    });
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
