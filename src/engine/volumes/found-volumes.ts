import {
  podsDirectory,
  podVolumeDevicesDirectory,
  podVolumesDirectory,
  unescapePluginName,
} from "../../core/paths/data-paths.ts";
import { otherNames } from "../../core/storage/found-names.ts";
import { findKindOf } from "../../core/storage/kinds/find-kind.ts";
import type { StorageError } from "../../core/storage/storage-error.ts";
import { uniqueVolumeName } from "../../core/storage/volume-names.ts";
import { isBlockVolume, type VolumeSpec, volumeSpecName } from "../../core/storage/volume-spec.ts";
import { foundMount, newNodeVolume } from "../../core/storage/volume-state.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinPath } from "../../lib/path.ts";
import { isPathWithin } from "../../lib/path-within.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Mounts } from "../../ports/mounts.ts";
import type { Attachments } from "./attachments.ts";
import type { BlockMaps } from "./block-maps.ts";
import type {
  FoundStorage,
  PodVolumeTarget,
  ReconstructedVolume,
  StoragePlugin,
} from "./storage-plugin.ts";
import type { VolumeStates } from "./volume-states.ts";

export interface FoundVolumesDeps {
  /** The agent's data folder. */
  readonly rootFolder: string;
  readonly files: HostFiles;
  readonly mounts: Pick<Mounts, "list">;
  readonly plugins: ReadonlyMap<string, StoragePlugin>;
  readonly blockMaps: BlockMaps;
  readonly states: VolumeStates;
  readonly attachments: Attachments;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** A volume of a pod that has a folder, or a link to its device. */
interface FoundVolume extends FoundStorage {
  readonly plugin: string;
  readonly isBlock: boolean;
}

interface Identified {
  readonly name: string;
  readonly spec: VolumeSpec;
  /** Where the device is mounted; undefined for a volume without one. */
  readonly deviceMountPath: string | undefined;
  readonly seLinuxLabel: string | undefined;
}

/** The device of a volume is the same whichever pods use it. */
const noPod = podUid("");

/**
 * The volumes that an agent before this one mounted, also one of another make: they are found in the folders of pods and of
 * plugins. Nothing is known of how far that agent came, so each is uncertain until it was set up or torn down again.
 */
export class FoundVolumes {
  readonly #deps: FoundVolumesDeps;
  /** Those of which it is not known whether they are attached. */
  #unsure: readonly string[] = [];
  /** Those that cannot be understood, until their removal was tried. */
  #failed: readonly FoundVolume[] = [];
  /** Those of them whose removal is being tried. */
  readonly #cleaning = new Set<FoundVolume>();
  /** Where something is mounted that cannot be understood. */
  #foreign: readonly string[] = [];
  /** What the agent before reported as in use and is not known here. Undefined until the node's status was read. */
  #inherited: readonly string[] | undefined;
  #isRead = false;

  constructor(deps: FoundVolumesDeps) {
    this.#deps = deps;
  }

  /** Which volumes there are is known, and of each whether it is attached: until then none is unmounted. */
  get areKnown(): boolean {
    const isInheritedKnown = this.#foreign.length === 0 || this.#inherited !== undefined;
    return this.#isRead && this.#unsure.length === 0 && isInheritedKnown;
  }

  /** To be reported as in use: each may be what is mounted and cannot be understood, which must not be detached. */
  get keptInUse(): readonly string[] {
    return this.#foreign.length === 0 ? [] : (this.#inherited ?? []);
  }

  /** Something that is not known or not understood may be mounted for the pod. */
  mayHave(uid: PodUid): boolean {
    return !this.#isRead || this.#failed.some((found) => found.podUid === uid);
  }

  /** Done once, before anything is mounted or unmounted. */
  async find(signal: AbortSignal): Promise<void> {
    if (this.#isRead) return;
    this.#failed = await this.#findOfPods(signal);
    this.#foreign = [...this.#failed.map(({ path }) => path), ...(await this.#findDevices(signal))];
    await this.#dropUnmounted();
    const volumes = this.#deps.states.volumes();
    const unsure = volumes.filter(({ isAttachable }) => isAttachable === undefined);
    this.#unsure = unsure.map(({ name }) => name);
    this.#isRead = true;
  }

  /** Returns those that cannot be understood. */
  async #findOfPods(signal: AbortSignal): Promise<readonly FoundVolume[]> {
    const { metrics, log } = this.#deps;
    const failed: FoundVolume[] = [];
    for (const found of await this.#list()) {
      if (await this.#isTakenDown(found)) continue;
      metrics.increment("reconstruct_volume_operations_total");
      const volume = await this.#reconstruct(found, signal);
      if (volume.ok) {
        this.#add(found, volume.value);
        continue;
      }
      metrics.increment("reconstruct_volume_operations_errors_total");
      const { message: error } = volume.error;
      log.warn("a volume on disk cannot be understood", { path: found.path, error });
      failed.push(found);
    }
    return failed;
  }

  async #isTakenDown(found: FoundVolume): Promise<boolean> {
    const plugin = found.isBlock ? undefined : this.#deps.plugins.get(found.plugin);
    return (await plugin?.isTakenDown?.(found)) === true;
  }

  /** Also of volumes that no pod has any more: an agent can end before it unmounts a device. Returns where one cannot be understood. */
  async #findDevices(signal: AbortSignal): Promise<readonly string[]> {
    const { plugins, log } = this.#deps;
    const foreign: string[] = [];
    for (const plugin of plugins.values()) {
      for (const { path, volume, seLinuxMountContext } of (await plugin.device?.find?.()) ?? []) {
        const spec = volume.ok ? ok({ spec: volume.value, seLinuxMountContext }) : volume;
        const known = spec.ok ? await this.#identify(plugin, spec.value, noPod, signal) : spec;
        if (known.ok) {
          this.#addVolume(plugin.name, known.value);
          continue;
        }
        const { message: error } = known.error;
        log.warn("a staged volume cannot be understood and is left alone", { path, error });
        foreign.push(path);
      }
    }
    return foreign;
  }

  /** What is not mounted any more cannot be in use. */
  async #dropUnmounted(): Promise<void> {
    const { mounts, log } = this.#deps;
    if (this.#foreign.length === 0) return;
    try {
      const mounted = await mounts.list();
      this.#foreign = this.#foreign.filter((path) =>
        mounted.some(({ mountPoint }) => isPathWithin(mountPoint, path)),
      );
    } catch (error) {
      log.warn("the node's mounts cannot be listed", { error: errorText(error) });
    }
  }

  /** Takes from the node's status which of them are attached, as soon as that was read. */
  settle(): void {
    const { states, attachments } = this.#deps;
    if (attachments.attached === undefined || !this.#isRead) return;
    // One that is or was known is reported as long as it is in use, like any other.
    this.#inherited = (this.#inherited ?? attachments.reportedInUse).filter(
      (name) => states.volume(name) === undefined && states.findWanted(name) === undefined,
    );
    for (const found of this.#unsure) {
      const { attached } = attachments;
      const name = otherNames(found).find((other) => attached.has(other)) ?? found;
      if (name !== found && states.volume(name) === undefined) states.rename(found, name, {});
      const devicePath = attached.get(name);
      const known = states.volume(name);
      if (known === undefined) continue;
      if (devicePath !== undefined && known.device === "uncertain") {
        states.changeVolume(name, { devicePath });
      }
      if (known.isAttachable === undefined) {
        states.changeVolume(name, { isAttachable: devicePath !== undefined });
      }
    }
    this.#unsure = [];
  }

  /**
   * Removes what is left of those that could not be understood, unless a pod wants them, once. What then still fails is left
   * alone. Whether it tried any, or something that cannot be understood is not mounted any more.
   */
  async cleanUp(signal: AbortSignal): Promise<boolean> {
    const { states } = this.#deps;
    // The containers of a pod whose stages did not ask yet may run with it.
    const due = this.#failed.filter((found) => {
      const { asked, isResolved } = states.pod(found.podUid);
      const mayGo = asked === "unmount" || (asked === "mount" && isResolved);
      return mayGo && !this.#cleaning.has(found);
    });
    for (const found of due) this.#cleaning.add(found);
    for (const found of due) {
      await this.#cleanUpOne(found, signal);
      this.#failed = this.#failed.filter((each) => each !== found);
      this.#cleaning.delete(found);
    }
    const { length: before } = this.#foreign;
    await this.#dropUnmounted();
    return due.length > 0 || this.#foreign.length < before;
  }

  async #cleanUpOne(found: FoundVolume, signal: AbortSignal): Promise<void> {
    const { plugins, metrics, log, states } = this.#deps;
    const { podUid: uid, volumeSpecName: name, path, plugin } = found;
    const wanted = [...states.pod(uid).wanted.values()];
    if (wanted.some(({ spec }) => volumeSpecName(spec) === name)) return;
    metrics.increment("force_cleaned_failed_volume_operations_total");
    const target = { podUid: uid, volumeSpecName: name };
    const error = await tearDownError(plugins.get(plugin), target, signal);
    if (error === undefined) return;
    metrics.increment("force_cleaned_failed_volume_operation_errors_total");
    log.warn("a volume on disk that no pod wants is left alone", { path, error });
  }

  async #list(): Promise<readonly FoundVolume[]> {
    const { files, rootFolder } = this.#deps;
    const found: FoundVolume[] = [];
    for (const uid of (await files.list(podsDirectory(rootFolder))).map(podUid)) {
      found.push(...(await this.#listBelow(uid, podVolumesDirectory(rootFolder, uid), false)));
      found.push(...(await this.#listBelow(uid, podVolumeDevicesDirectory(rootFolder, uid), true)));
    }
    return found;
  }

  async #listBelow(uid: PodUid, folder: string, isBlock: boolean): Promise<FoundVolume[]> {
    const found: FoundVolume[] = [];
    for (const pluginFolder of await this.#names(folder)) {
      const plugin = unescapePluginName(pluginFolder);
      for (const name of await this.#names(joinPath(folder, pluginFolder))) {
        const path = joinPath(folder, pluginFolder, name);
        found.push({ podUid: uid, volumeSpecName: name, path, plugin, isBlock });
      }
    }
    return found;
  }

  /** One pod's folder that cannot be read must not hide the others: what is in it is left alone. */
  async #names(folder: string): Promise<readonly string[]> {
    const { files, log } = this.#deps;
    try {
      return await files.list(folder);
    } catch (error) {
      log.warn("a folder of volumes cannot be read", { folder, error: errorText(error) });
      return [];
    }
  }

  async #reconstruct(
    found: FoundVolume,
    signal: AbortSignal,
  ): Promise<Result<Identified, Pick<StorageError, "message">>> {
    const plugin = this.#deps.plugins.get(found.plugin);
    if (plugin === undefined) return err({ message: `no volume plugin matched: ${found.plugin}` });
    const storage = found.isBlock ? plugin.block : plugin;
    if (storage === undefined) return err({ message: `${found.plugin} has no raw devices` });
    try {
      const known = await storage.reconstruct(found, signal);
      return known.ok ? await this.#identify(plugin, known.value, found.podUid, signal) : known;
    } catch (error) {
      signal.throwIfAborted();
      return err({ message: errorText(error) });
    }
  }

  async #identify(
    { device }: StoragePlugin,
    { spec, hasDevice = true, seLinuxMountContext: seLinuxLabel }: ReconstructedVolume,
    uid: PodUid,
    signal: AbortSignal,
  ): Promise<Result<Identified, Pick<StorageError, "message">>> {
    const kind = findKindOf(spec, []);
    if (!kind.ok) return kind;
    const traits = kind.value.traits(spec, () => undefined);
    const name = uniqueVolumeName({ kind: kind.value, traits }, spec, uid);
    if (!name.ok) return name;
    const isMounted = hasDevice && traits.deviceMountable && device !== undefined;
    const path = isBlockVolume(spec)
      ? this.#deps.blockMaps.globalPath(spec)
      : isMounted
        ? await device.mountPath(spec, signal)
        : ok(undefined);
    if (!path.ok) return path;
    return ok({ name: name.value, spec, deviceMountPath: path.value, seLinuxLabel });
  }

  #addVolume(plugin: string, volume: Identified): void {
    const { states } = this.#deps;
    const { name, spec, deviceMountPath, seLinuxLabel } = volume;
    if (states.volume(name) !== undefined) return;
    const device = deviceMountPath === undefined ? "not-mounted" : "uncertain";
    states.addVolume({
      ...newNodeVolume({ name, spec, plugin, isAttachable: undefined, devicePath: "" }),
      device,
      deviceMountPath: deviceMountPath ?? "",
      seLinuxLabel,
      isFound: true,
    });
  }

  #add({ podUid: uid, plugin }: FoundVolume, found: Identified): void {
    this.#addVolume(plugin, found);
    const { name, spec, seLinuxLabel } = found;
    this.#deps.states.setMount(uid, name, foundMount(spec, plugin, seLinuxLabel));
  }
}

/** Undefined = nothing is left of the volume. */
async function tearDownError(
  plugin: StoragePlugin | undefined,
  target: PodVolumeTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (plugin === undefined) return "this node has no volume plugin of that name";
  try {
    const done = await plugin.tearDown(target, signal);
    return done.ok ? undefined : done.error.message;
  } catch (error) {
    return errorText(error);
  }
}
