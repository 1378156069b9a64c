import type { SimMachine } from "../../../../src/app/sim-agent.ts";
import { CsiCallError } from "../../../../src/model/csi-call-error.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  type NodeExpandVolumeRequest,
  type NodeExpandVolumeResponse,
  type NodePublishVolumeRequest,
  type NodeServiceCapability,
  type NodeStageVolumeRequest,
} from "../../../../src/model/generated/csi.ts";
import type { CsiNodeClient } from "../../../../src/ports/csi-drivers.ts";
import type { Dice } from "../dice.ts";
import type { PluginFaults } from "../plugin-faults.ts";
import { PluginProcess } from "../plugin-process.ts";
import type { SimDevices } from "./sim-devices.ts";
import { diskDriver, smallestBytes } from "./storage-objects.ts";

/** The kubelet's deadline of every call. */
const deadlineMs = 120_000;

/** What a driver has of one volume on the node. It outlasts the driver, as mounts do. */
export interface SimVolume {
  readonly driver: string;
  readonly handle: string;
  stagedAt: string | undefined;
  /** Of its file system, or of the device as the node sees it. */
  sizeBytes: bigint;
  readonly publishedAt: Map<string, { readonly isBlock: boolean }>;
  /** The call about it that has not ended. */
  busy: CsiCall["kind"] | undefined;
}

/** What an agent asks of a driver about one volume. */
export interface CsiCall {
  readonly kind: "stage" | "unstage" | "publish" | "unpublish" | "expand";
  readonly volume: SimVolume;
  readonly path: string;
  readonly stagingPath: string;
  /** How large it is to be. */
  readonly requiredBytes: bigint;
}

export interface SimCsiDriverDeps {
  readonly machine: Pick<SimMachine, "clock" | "files" | "mounts">;
  readonly devices: SimDevices;
  readonly faults: PluginFaults;
  readonly dice: Dice;
  /** A call comes in. */
  readonly onCall: (call: CsiCall) => void;
}

/** A CSI driver on the simulated machine. It may die and come back at any time; what it mounted stays. */
export class SimCsiDriver {
  readonly name: string;
  readonly #deps: SimCsiDriverDeps;
  readonly #volumes = new Map<string, SimVolume>();
  readonly #process: PluginProcess;

  constructor(name: string, deps: SimCsiDriverDeps) {
    this.name = name;
    this.#deps = deps;
    const { machine, dice, faults } = deps;
    this.#process = new PluginProcess({
      clock: machine.clock,
      dice,
      faults,
      deadlineMs,
      error: (code, text) => new CsiCallError(code, text),
    });
  }

  get volumes(): readonly SimVolume[] {
    return [...this.#volumes.values()];
  }

  get isUp(): boolean {
    return this.#process.isUp;
  }

  start(): void {
    this.#process.start();
  }

  /** Calls that have no answer get none. */
  die(): void {
    this.#process.die();
  }

  /** What an agent calls. */
  get client(): CsiNodeClient {
    const { name } = this;
    return {
      getInfo: (signal) => this.#ask(() => ({ nodeId: `node-of-${name}` }), signal),
      getCapabilities: (signal) => this.#ask(() => this.#capabilities, signal),
      stageVolume: (request, signal) =>
        this.#call("stage", request, request.stagingTargetPath, signal),
      unstageVolume: (request, signal) =>
        this.#call("unstage", request, request.stagingTargetPath, signal),
      publishVolume: (request, signal) =>
        this.#call("publish", request, request.targetPath, signal),
      unpublishVolume: (request, signal) =>
        this.#call("unpublish", request, request.targetPath, signal),
      expandVolume: async (request, signal): Promise<NodeExpandVolumeResponse> => {
        await this.#call("expand", request, request.volumePath, signal);
        return { capacityBytes: request.capacityRange?.requiredBytes ?? 0n };
      },
      getVolumeStats: (_, signal) => this.#ask(() => ({ usage: [] }), signal),
    };
  }

  get #capabilities(): readonly NodeServiceCapability[] {
    if (this.name !== diskDriver) return [];
    const types = [Capability.STAGE_UNSTAGE_VOLUME, Capability.EXPAND_VOLUME];
    return types.map((type) => ({ rpc: { type } }));
  }

  #volume(handle: string): SimVolume {
    const known = this.#volumes.get(handle) ?? {
      driver: this.name,
      handle,
      stagedAt: undefined,
      sizeBytes: smallestBytes,
      publishedAt: new Map(),
      busy: undefined,
    };
    this.#volumes.set(handle, known);
    return known;
  }

  #call(
    kind: CsiCall["kind"],
    request: { readonly volumeId?: string | undefined },
    path: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { volumeId = "", stagingTargetPath = "" } = request as NodePublishVolumeRequest;
    const { capacityRange } = request as NodeExpandVolumeRequest;
    const requiredBytes = capacityRange?.requiredBytes ?? 0n;
    const volume = this.#volume(volumeId);
    const paths = { path: path ?? "", stagingPath: stagingTargetPath };
    const call = { kind, volume, ...paths, requiredBytes };
    this.#deps.onCall(call);
    const work = () => this.#inTurn(call, () => this.#carryOut(call, request));
    return this.#process.send(work, signal);
  }

  #ask<T>(answer: () => T, signal: AbortSignal): Promise<T> {
    return this.#process.send(() => this.#process.mayFail(async () => answer()), signal);
  }

  /** A driver refuses what comes while it is at work on the volume. */
  async #inTurn({ kind, volume }: CsiCall, work: () => Promise<void>): Promise<void> {
    if (volume.busy !== undefined) throw new CsiCallError("Aborted", "an operation is pending");
    volume.busy = kind;
    try {
      await this.#process.mayFail(work);
    } finally {
      volume.busy = undefined;
    }
  }

  async #carryOut(call: CsiCall, request: object): Promise<void> {
    const { kind, volume, path } = call;
    const { files, mounts } = this.#deps.machine;
    switch (kind) {
      case "stage":
        volume.stagedAt = path;
        if (!isBlock(request)) await this.#mount(`/dev/${volume.handle}`, path);
        return;
      case "unstage":
        volume.stagedAt = undefined;
        await mounts.unmount(path);
        return;
      case "publish":
        await this.#publish(call, isBlock(request));
        return;
      case "unpublish":
        volume.publishedAt.delete(path);
        this.#deps.devices.remove(path);
        await mounts.unmount(path);
        await files.removeTree(path);
        return;
      case "expand":
        if (call.requiredBytes > volume.sizeBytes) volume.sizeBytes = call.requiredBytes;
    }
  }

  async #publish({ volume, path, stagingPath }: CsiCall, block: boolean): Promise<void> {
    const { files } = this.#deps.machine;
    if (this.name === diskDriver && volume.stagedAt !== stagingPath) {
      throw new CsiCallError("FailedPrecondition", `${volume.handle} is not staged`);
    }
    volume.publishedAt.set(path, { isBlock: block });
    if (block) {
      await files.overwrite(path, "");
      this.#deps.devices.add(path, volume.handle);
      return;
    }
    await files.ensureFolder(path);
    const source = volume.stagedAt ?? `/exports/${volume.handle}`;
    await this.#mount(source, path);
  }

  async #mount(source: string, target: string): Promise<void> {
    const { mounts } = this.#deps.machine;
    const mount = { source, target, fileSystem: "ext4", options: [], withoutSystemd: true };
    await mounts.mount(mount);
  }
}

function isBlock(request: object): boolean {
  return (request as NodeStageVolumeRequest).volumeCapability?.block !== undefined;
}
