import { storageOf } from "../../core/storage/expand-claim.ts";
import { volumeMessage } from "../../core/storage/volume-messages.ts";
import { isBlockVolume } from "../../core/storage/volume-spec.ts";
import {
  type NodeVolume,
  newNodeVolume,
  type PodMount,
  type WantedVolume,
} from "../../core/storage/volume-state.ts";
import { assert } from "../../lib/assert.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodUid } from "../../model/ids.ts";
import { isZeroQuantity, type Quantity, zeroQuantity } from "../../model/quantity.ts";
import type { Attachments } from "./attachments.ts";
import type { Claims } from "./claims.ts";
import { type MapDeps, mapVolume } from "./map-operations.ts";
import { mountVolume } from "./mount-operations.ts";
import type { StoragePlugin } from "./storage-plugin.ts";
import {
  type UnmountDeps,
  unmapDevice,
  unmapVolume,
  unmountDevice,
  unmountVolume,
} from "./unmount-operations.ts";

export interface VolumeOperationsDeps extends MapDeps, UnmountDeps {
  /** By name. */
  readonly plugins: ReadonlyMap<string, StoragePlugin>;
  readonly claims: Claims;
  readonly attachments: Attachments;
}

/** What can be done to volumes, each by the plugin of the volume. An error is the text for the log and for events. */
export class VolumeOperations {
  readonly #deps: VolumeOperationsDeps;

  constructor(deps: VolumeOperationsDeps) {
    this.#deps = deps;
  }

  /** Notes that the volume is attached, or needs no attachment, and how large its claim is. */
  async verifyAttached(wanted: WantedVolume, signal: AbortSignal): Promise<Result<void, string>> {
    const { states, attachments } = this.#deps;
    const { volumeName: name, spec, plugin, attachable } = wanted;
    const size = await this.#claimSize(wanted, signal);
    if (!size.ok) return size;
    const devicePath = attachable ? attachments.attached?.get(name) : "";
    if (devicePath === undefined) {
      return err(volumeMessage("Volume not attached according to node status", wanted, ""));
    }
    states.addVolume(newNodeVolume({ name, spec, plugin, isAttachable: attachable, devicePath }));
    states.initializeSize(name, size.value);
    return ok(undefined);
  }

  async #claimSize(wanted: WantedVolume, signal: AbortSignal): Promise<Result<Quantity, string>> {
    const { states, claims } = this.#deps;
    const { spec, volumeName } = wanted;
    const known = states.volume(volumeName)?.size ?? zeroQuantity;
    if (spec.source !== "persistentVolume" || spec.inlineForMigration === true) return ok(known);
    if (!isZeroQuantity(known)) return ok(known);
    const { namespace = "", name = "" } = spec.persistentVolume.spec?.claimRef ?? {};
    const claim = await claims.claim(namespace, name, signal);
    if (claim.ok) return ok(storageOf(claim.value.status?.capacity));
    const prefix = "VerifyControllerAttachedVolume fetching pvc failed";
    return err(volumeMessage(prefix, wanted, `: ${claim.error}`));
  }

  mount(
    uid: PodUid,
    wanted: WantedVolume,
    isRemount: boolean,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const plugin = this.#plugin(wanted.plugin);
    const mount = isBlockVolume(wanted.spec) ? mapVolume : mountVolume;
    return mount(this.#deps, { uid, wanted, plugin, isRemount }, signal);
  }

  /** Of a volume that is mounted for the pod. */
  async expand(
    uid: PodUid,
    wanted: WantedVolume,
    fromSize: Quantity,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const { states, expansion } = this.#deps;
    const { volumeName: name } = wanted;
    const plugin = this.#plugin(wanted.plugin);
    const mount = states.pod(uid).mounts.get(name);
    const paths = {
      devicePath: states.volume(name)?.devicePath ?? "",
      deviceMountPath: isBlockVolume(wanted.spec) ? "" : (mount?.volume?.path ?? ""),
      deviceStagePath: await this.#stagePath(plugin, wanted, signal),
    };
    const done = await expansion.online({ wanted, plugin }, fromSize, paths, signal);
    if (done.ok) return done;
    const prefix = "NodeExpandVolume.NodeExpandVolume failed";
    return err(volumeMessage(prefix, wanted, `: ${done.error.message}`));
  }

  async #stagePath(
    { device }: StoragePlugin,
    { spec, deviceMountable }: WantedVolume,
    signal: AbortSignal,
  ): Promise<string> {
    if (isBlockVolume(spec)) return this.#deps.blockMaps.stagingPath(spec);
    const path = deviceMountable ? await device?.mountPath(spec, signal) : undefined;
    return path?.ok === true ? path.value : "";
  }

  unmount(
    target: { readonly uid: PodUid; readonly name: string; readonly mount: PodMount },
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const plugin = this.#plugin(target.mount.plugin);
    const unmount = isBlockVolume(target.mount.spec) ? unmapVolume : unmountVolume;
    return unmount(this.#deps, { ...target, plugin }, signal);
  }

  unmountDevice(volume: NodeVolume, signal: AbortSignal): Promise<Result<void, string>> {
    const plugin = this.#plugin(volume.plugin);
    const unmount = isBlockVolume(volume.spec) ? unmapDevice : unmountDevice;
    return unmount(this.#deps, volume, plugin, signal);
  }

  /** Volumes without a plugin are not resolved, so none of them comes here. */
  #plugin(name: string): StoragePlugin {
    const plugin = this.#deps.plugins.get(name);
    assert(plugin !== undefined, `there is no volume plugin ${name}`);
    return plugin;
  }
}
