import {
  type AllocateResponseCodec,
  DeviceCheckpointEncoder,
  parseDeviceCheckpoint,
} from "../../core/devices/plugin/device-checkpoint.ts";
import { DeviceManager } from "../../core/devices/plugin/device-manager.ts";
import type { DeviceResources } from "../../core/node/node-capacity.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import {
  mustParseQuantity,
  type Quantity,
  quantityValue,
  wholeQuantity,
} from "../../model/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { ManagerSettings } from "./manager-settings.ts";
import { StateFile } from "./state-file.ts";

export interface DeviceStoreDeps {
  readonly settings: {
    readonly node: {
      readonly managers: Pick<ManagerSettings, "topology">;
      readonly devicePluginFolder: string;
    };
  };
  readonly files: Pick<HostFiles, "readText" | "writeFile" | "ensureFolder">;
  readonly allocateResponses: AllocateResponseCodec;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
}

/** The devices of this node's plugins, and who holds them, kept in the file of a kubelet. */
export class DeviceStore {
  readonly manager: DeviceManager;
  /** Plugins register in it. */
  readonly folder: string;
  readonly #deps: DeviceStoreDeps;
  readonly #file: StateFile;
  readonly #encoder: DeviceCheckpointEncoder;

  constructor(deps: DeviceStoreDeps) {
    const { managers, devicePluginFolder } = deps.settings.node;
    this.#deps = deps;
    this.#encoder = new DeviceCheckpointEncoder(deps.allocateResponses);
    this.manager = new DeviceManager(managers.topology.machine.nodes);
    this.folder = devicePluginFolder;
    const path = `${this.folder}/kubelet_internal_checkpoint`;
    this.#file = new StateFile(deps.files, path);
  }

  /** Takes over what the agent or kubelet before this one handed out. As with a kubelet, a file that cannot be read is as good as none. */
  async start(): Promise<void> {
    const { allocateResponses, clock, log } = this.#deps;
    const text = await this.#file.read();
    if (text === undefined) return;
    const parsed = parseDeviceCheckpoint(text, allocateResponses);
    if (parsed.ok) this.manager.restore(parsed.value, clock.monotonicMs());
    else {
      const fields = { file: this.#file.path, error: parsed.error };
      log.error("cannot read which devices were handed out; going on without that", fields);
    }
  }

  /** Rejects when it cannot be written. */
  async save(): Promise<void> {
    await this.#deps.files.ensureFolder(this.folder, 0o750);
    await this.#file.save(this.#encoder.text(this.manager.checkpoint()));
  }

  /** What could not be written is with the next change. */
  async trySave(): Promise<void> {
    await this.save().catch((error: unknown) => {
      const fields = { file: this.#file.path, error: errorText(error) };
      this.#deps.log.error("cannot write down which devices were handed out", fields);
    });
  }

  /** The pod's containers have ended. */
  async release(uid: PodUid): Promise<void> {
    if (this.manager.releasePod(uid)) await this.trySave();
  }

  /** The node as it counts when the pod is admitted: with its devices, and at least as many as the pod and others already hold. */
  nodeFor(uid: PodUid, node: Node): Node {
    const { inventory, inUse } = this.manager;
    const healthy = inventory.healthyByResource();
    if (healthy.size === 0 && inUse.size === 0) return node;
    const own = Array.from(healthy, ([resource, { size }]) => [resource, String(size)] as const);
    const allocatable = { ...Object.fromEntries(own), ...node.status?.allocatable };
    const counts = new Map(
      [...healthy.keys(), ...inUse.keys()].flatMap((resource) => {
        const amount = allocatable[resource];
        return amount === undefined
          ? []
          : [[resource, Number(quantityValue(mustParseQuantity(amount)))] as const];
      }),
    );
    for (const [resource, count] of this.manager.sanitizedAllocatable(uid, counts)) {
      if (count !== counts.get(resource)) allocatable[resource] = String(count);
    }
    return { ...node, status: { ...node.status, allocatable } };
  }

  /** What the node reports. */
  async readCapacity(): Promise<DeviceResources> {
    const found = this.manager.capacity(this.#deps.clock.monotonicMs());
    const { capacity, allocatable, deleted } = found;
    if (deleted.length > 0) await this.trySave();
    return {
      capacity: quantities(capacity),
      allocatable: quantities(allocatable),
      removed: deleted,
    };
  }
}

function quantities(counts: ReadonlyMap<string, number>): Map<string, Quantity> {
  return new Map(
    Array.from(counts, ([resource, count]) => [
      resource,
      wholeQuantity(BigInt(count), "DecimalSI"),
    ]),
  );
}
