// A CSI driver that fails as it is scripted to, and whose stages and publishes are mounts in memory.
import type { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import type { SimMounts } from "../../src/drivers/sim/sim-mounts.ts";
import { CsiCallError } from "../../src/model/csi-call-error.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  type NodeExpandVolumeRequest,
  type NodePublishVolumeRequest,
  type NodeServiceCapability,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
} from "../../src/model/generated/csi.ts";
import type { RuntimeErrorCode } from "../../src/model/runtime-error.ts";
import type { CsiNodeClient } from "../../src/ports/csi-drivers.ts";
import type { VirtualClock } from "../sim/virtual-clock.ts";
import { encodeMessage, type ScriptedFailure } from "./recording-csi-driver.ts";

export interface ScriptedResults {
  readonly method?: string;
  /** Absent = of every volume. */
  readonly volumeHandle?: string;
  readonly results?: readonly ScriptedFailure[];
  readonly always?: ScriptedFailure;
}

interface VolumeCall {
  readonly volume: string;
  readonly call: object;
}

export class VolumeDriver implements CsiNodeClient {
  readonly #input: { readonly name: string; readonly capabilities: readonly string[] };
  readonly #clock: VirtualClock;
  readonly #files: MemoryFiles;
  readonly #mounts: SimMounts;
  readonly #queues = new Map<string, ScriptedFailure[]>();
  readonly #always = new Map<string, ScriptedFailure>();
  #calls: VolumeCall[] = [];

  constructor(
    input: { readonly name: string; readonly capabilities: readonly string[] },
    clock: VirtualClock,
    files: MemoryFiles,
    mounts: SimMounts,
  ) {
    this.#input = input;
    this.#clock = clock;
    this.#files = files;
    this.#mounts = mounts;
  }

  script({ method = "", volumeHandle = "", results, always }: ScriptedResults): void {
    const key = `${method} ${volumeHandle}`;
    if (results !== undefined) this.#queues.set(key, [...results]);
    if (always !== undefined) this.#always.set(key, always);
  }

  takeCalls(): readonly VolumeCall[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  async getInfo(): Promise<{ readonly nodeId: string }> {
    this.#call("NodeGetInfo", {});
    return { nodeId: "" };
  }

  async getCapabilities(): Promise<readonly NodeServiceCapability[]> {
    return this.#input.capabilities.map((name) => ({
      rpc: { type: Capability[name as keyof typeof Capability] },
    }));
  }

  async stageVolume(request: NodeStageVolumeRequest): Promise<void> {
    this.#call("NodeStageVolume", request);
    this.#mounts.bind(request.stagingTargetPath ?? "");
  }

  async unstageVolume(request: NodeUnstageVolumeRequest): Promise<void> {
    this.#call("NodeUnstageVolume", request);
    await this.#mounts.unmount(request.stagingTargetPath ?? "");
  }

  async publishVolume(request: NodePublishVolumeRequest): Promise<void> {
    this.#call("NodePublishVolume", request);
    const { targetPath = "", volumeCapability } = request;
    if (volumeCapability?.block === undefined) this.#mounts.bind(targetPath);
    else await this.#files.writeFile(targetPath, "");
  }

  async unpublishVolume(request: NodeUnpublishVolumeRequest): Promise<void> {
    this.#call("NodeUnpublishVolume", request);
    const { targetPath = "" } = request;
    await this.#mounts.unmount(targetPath);
    await this.#files.removeFile(targetPath);
  }

  getVolumeStats(): Promise<never> {
    throw new Error("not part of these vectors");
  }

  async expandVolume(
    request: NodeExpandVolumeRequest,
  ): Promise<{ readonly capacityBytes: bigint }> {
    this.#call("NodeExpandVolume", request);
    return { capacityBytes: request.capacityRange?.requiredBytes ?? 0n };
  }

  #call(method: string, request: object): void {
    const { volumeId = "" } = request as { readonly volumeId?: string };
    const { code, message = "" } = this.#next(method, volumeId);
    const at = Math.floor(this.#clock.monotonicMs() / 100) / 10;
    const shown = { at, driver: this.#input.name, method, request: encodeMessage(request) };
    this.#calls.push({
      volume: volumeId,
      call: code === undefined ? shown : { ...shown, result: code },
    });
    if (code === undefined) return;
    throw new CsiCallError((code === "Canceled" ? "Cancelled" : code) as RuntimeErrorCode, message);
  }

  #next(method: string, volumeId: string): ScriptedFailure {
    const keys = [`${method} ${volumeId}`, `${method} `];
    for (const key of keys) {
      const queued = this.#queues.get(key)?.shift();
      if (queued !== undefined) return queued;
    }
    return keys.flatMap((key) => this.#always.get(key) ?? [])[0] ?? {};
  }
}
