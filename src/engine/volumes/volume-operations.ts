import { storageOf } from "../../core/storage/expand-claim.ts";
import { nodeAttachProblem } from "../../core/storage/plan-volumes.ts";
import { volumeMessage } from "../../core/storage/volume-messages.ts";
import { isBlockVolume } from "../../core/storage/volume-spec.ts";
import {
  type NodeVolume,
  newNodeVolume,
  type PodMount,
  type WantedVolume,
} from "../../core/storage/volume-state.ts";
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

  /** Where no controller does it: only for what needs no more than to be known. */
  attach(wanted: WantedVolume): Result<void, string> {
    const { states, events } = this.#deps;
    const { volumeName: name, spec, plugin, pod } = wanted;
    const problem = nodeAttachProblem(spec, "attaching");
    if (problem !== undefined) {
      return err(volumeMessage("AttachVolume.Attach failed", wanted, `: ${problem}`));
    }
    states.addVolume(newNodeVolume({ name, spec, plugin, isAttachable: true, devicePath: "" }));
    const message = volumeMessage("AttachVolume.Attach succeeded", wanted, "");
    events.record(pod, { type: "Normal", reason: "SuccessfulAttachVolume", message });
    return ok(undefined);
  }

  detach(volume: NodeVolume): Result<void, string> {
    const problem = nodeAttachProblem(volume.spec, "detaching");
    if (problem !== undefined) {
      return err(volumeMessage("DetachVolume.Detach failed", volume, `: ${problem}`));
    }
    this.#deps.states.removeVolume(volume.name);
    return ok(undefined);
  }

  async mount(
    uid: PodUid,
    wanted: WantedVolume,
    isRemount: boolean,
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const plugin = this.#plugin("MountVolume", wanted);
    if (!plugin.ok) return plugin;
    const mount = isBlockVolume(wanted.spec) ? mapVolume : mountVolume;
    return mount(this.#deps, { uid, wanted, plugin: plugin.value, isRemount }, signal);
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
    const found = this.#plugin("NodeExpandVolume", wanted);
    if (!found.ok) return found;
    const plugin = found.value;
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

  async unmount(
    target: { readonly uid: PodUid; readonly name: string; readonly mount: PodMount },
    signal: AbortSignal,
  ): Promise<Result<void, string>> {
    const plugin = this.#plugin("UnmountVolume", target.mount);
    if (!plugin.ok) return plugin;
    const unmount = isBlockVolume(target.mount.spec) ? unmapVolume : unmountVolume;
    return unmount(this.#deps, { ...target, plugin: plugin.value }, signal);
  }

  async unmountDevice(volume: NodeVolume, signal: AbortSignal): Promise<Result<void, string>> {
    const plugin = this.#plugin("UnmountDevice", volume);
    if (!plugin.ok) return plugin;
    const unmount = isBlockVolume(volume.spec) ? unmapDevice : unmountDevice;
    return unmount(this.#deps, volume, plugin.value, signal);
  }

  #plugin(
    operation: string,
    volume: Pick<NodeVolume, "plugin" | "spec">,
  ): Result<StoragePlugin, string> {
    const plugin = this.#deps.plugins.get(volume.plugin);
    if (plugin !== undefined) return ok(plugin);
    const reason = `: this node has no volume plugin ${volume.plugin}`;
    return err(volumeMessage(`${operation}.FindPluginByName failed`, volume, reason));
  }
}
