// `berth down`: the volumes that pods of the data folder had are given back to who serves them.

import { createHash } from "node:crypto";
import { pluginRegistryDirectory } from "../core/paths/data-paths.ts";
import { endingTurns, isStorageMount, mayBeDriver } from "../core/storage/ending-order.ts";
import { createCsiDrivers } from "../drivers/csi/csi-drivers.ts";
import { blockDevices } from "../drivers/linux/block-devices.ts";
import { linuxCommands } from "../drivers/linux/commands.ts";
import { linuxDeviceTree } from "../drivers/linux/device-tree.ts";
import { linuxForeignFiles } from "../drivers/linux/foreign-files.ts";
import type { ForeignHelpers } from "../drivers/linux/foreign-helpers.ts";
import { hostFiles } from "../drivers/linux/host-files.ts";
import { linuxMounts } from "../drivers/linux/mounts.ts";
import { payloadFiles } from "../drivers/linux/payload-files.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { pluginSockets } from "../drivers/plugins/plugin-sockets.ts";
import { VolumeReturn } from "../engine/volumes/volume-return.ts";
import { MetricsRegistry } from "../lib/metrics-registry.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { PodUid } from "../model/ids.ts";
import type { ObservedMount, ObservedPod } from "../model/observed.ts";
import type { ForeignFiles } from "../ports/foreign-files.ts";
import type { Log } from "../ports/log.ts";
import type { Mounts } from "../ports/mounts.ts";
import type { DataLayout } from "./data-layout.ts";

/** The volumes of a data folder whose agent has ended. */
export class DownVolumes implements AsyncDisposable {
  readonly #layout: DataLayout;
  readonly #log: Log;
  readonly #mounts: Mounts;
  readonly #foreignFiles: ForeignFiles;
  readonly #end = new AbortController();
  readonly #volumes: VolumeReturn;
  #registering: Promise<void> = Promise.resolve();

  private constructor(layout: DataLayout, helpers: ForeignHelpers, log: Log) {
    this.#layout = layout;
    this.#log = log;
    const commands = linuxCommands(helpers.hungPaths);
    this.#mounts = linuxMounts(helpers.hungPaths, commands);
    this.#foreignFiles = linuxForeignFiles(helpers, Date.now);
    this.#volumes = new VolumeReturn({
      rootFolder: layout.rootFolder,
      claimsFolder: layout.volumes,
      // Only what is mounted asks for it.
      nodeName: "",
      clock: systemClock,
      commands,
      csiDrivers: createCsiDrivers(),
      devices: { ...linuxDeviceTree(commands), ...blockDevices },
      files: hostFiles,
      foreignFiles: this.#foreignFiles,
      log,
      metrics: new MetricsRegistry({}),
      mounts: this.#mounts,
      payloadFiles,
      pluginSockets,
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
      lifetime: this.#end.signal,
    });
  }

  /** Must be called before pods are ended: what they have is known by their folders. */
  static async find(
    layout: DataLayout,
    helpers: ForeignHelpers,
    log: Log,
    signal: AbortSignal,
  ): Promise<DownVolumes> {
    const found = new DownVolumes(layout, helpers, log);
    const { registering } = await found.#volumes.find(signal);
    found.#registering = registering;
    return found;
  }

  /** The pods in turns, each to be ended and followed by `giveBack` before the next. */
  async turns(
    pods: readonly ObservedPod[],
    signal: AbortSignal,
  ): Promise<readonly (readonly PodUid[])[]> {
    const registry = pluginRegistryDirectory(this.#layout.rootFolder);
    return endingTurns(
      await Promise.all(
        pods.map(async (pod) => ({
          uid: pod.uid,
          mayBeDriver: mayBeDriver(await this.#withRealPaths(pod, signal), registry),
          usesDriver: this.#volumes.usesDriver(pod.uid),
        })),
      ),
    );
  }

  giveBack(running: Iterable<PodUid>, signal: AbortSignal): Promise<void> {
    return this.#volumes.giveBack(new Set(running), signal);
  }

  /** Throws when something that lasts is still mounted: its files are all that says what it is. */
  async requireReturned(): Promise<void> {
    const { rootFolder } = this.#layout;
    for (const { name: volume, pod, driver, reason } of this.#volumes.kept) {
      this.#log.warn("a volume was not given back", { volume, pod, driver, reason });
    }
    const mounted = (await this.#mounts.listBelow(rootFolder))
      .map(({ mountPoint }) => mountPoint)
      .filter((path) => isStorageMount(rootFolder, path));
    if (mounted.length === 0) return;
    const drivers = [...new Set(this.#volumes.kept.flatMap(({ driver = [] }) => driver))];
    throw new SetupError(
      `volumes are still mounted${drivers.length === 0 ? "" : ` (of ${drivers.join(", ")})`}: ${mounted.join(", ")}`,
      "the pods have ended, nothing else is removed; let what serves the volumes run (the agent too, if it is one of its pods) and call `berth down` again, or unmount them with umount(8) before that",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#registering;
  }

  async #withRealPaths(
    { containers }: ObservedPod,
    signal: AbortSignal,
  ): Promise<Pick<ObservedPod, "containers">> {
    const real = async (mount: ObservedMount): Promise<ObservedMount> => {
      const hostPath = await this.#foreignFiles
        .realPath(mount.hostPath, signal)
        .catch(() => undefined);
      return { ...mount, hostPath: hostPath ?? mount.hostPath };
    };
    return {
      containers: await Promise.all(
        containers.map(async (container) => ({
          ...container,
          mounts: await Promise.all((container.mounts ?? []).map(real)),
        })),
      ),
    };
  }
}
