// A CSI driver that records what it is asked for, fails as it is scripted to, and keeps its mounts in a set.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CsiCallError } from "../../src/model/csi-call-error.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  VolumeCapability_AccessMode_Mode as Mode,
  type NodeServiceCapability,
  VolumeUsage_Unit as Unit,
  type VolumeUsage,
} from "../../src/model/generated/csi.ts";
import type { RuntimeErrorCode } from "../../src/model/runtime-error.ts";
import type { CsiNodeClient } from "../../src/ports/csi-drivers.ts";

export interface ScriptedFailure {
  /** Absent = success. */
  readonly code?: string;
  readonly message?: string;
}

export interface EncodedUsage {
  readonly available?: number;
  readonly total?: number;
  readonly used?: number;
  readonly unit?: keyof typeof Unit;
}

export interface DriverInput {
  readonly name: string;
  readonly registered?: boolean;
  readonly capabilities?: readonly string[];
  readonly createsTarget?: boolean;
  readonly removesTarget?: boolean;
}

interface RecordedCall {
  readonly method: string;
  readonly request: unknown;
  readonly result?: string;
}

export class RecordingCsiDriver implements CsiNodeClient {
  readonly mounted: Set<string> = new Set();
  readonly #input: DriverInput;
  readonly #publishes: "folder" | "device";
  capabilities: readonly string[];
  calls: RecordedCall[] = [];
  usage: readonly EncodedUsage[] | undefined;
  capacityBytes = 0;
  #failures = new Map<string, ScriptedFailure[]>();

  constructor(input: DriverInput, publishes: "folder" | "device") {
    this.#input = input;
    this.#publishes = publishes;
    this.capabilities = input.capabilities ?? [];
  }

  script(failures: Readonly<Record<string, readonly ScriptedFailure[]>>): void {
    this.#failures = new Map(Object.entries(failures).map(([name, queue]) => [name, [...queue]]));
  }

  getInfo(): Promise<never> {
    throw new Error("not part of these vectors");
  }

  async getCapabilities(): Promise<readonly NodeServiceCapability[]> {
    this.#fail("NodeGetCapabilities");
    return this.capabilities.map((name) => ({
      rpc: { type: Capability[name as keyof typeof Capability] },
    }));
  }

  async stageVolume(request: { readonly stagingTargetPath?: string | undefined }): Promise<void> {
    this.#record("NodeStageVolume", request);
    this.mounted.add(request.stagingTargetPath ?? "");
  }

  async unstageVolume(request: { readonly stagingTargetPath?: string | undefined }): Promise<void> {
    this.#record("NodeUnstageVolume", request);
    this.mounted.delete(request.stagingTargetPath ?? "");
  }

  async publishVolume(request: { readonly targetPath?: string | undefined }): Promise<void> {
    this.#record("NodePublishVolume", request);
    const { targetPath = "" } = request;
    if (this.#publishes === "folder") this.mounted.add(targetPath);
    if (this.#input.createsTarget !== true) return;
    if (this.#publishes === "device") return writeFile(targetPath, "");
    await mkdir(targetPath, { recursive: true, mode: 0o755 });
    await writeFile(join(targetPath, "data"), "", { mode: 0o644 });
  }

  async unpublishVolume(request: { readonly targetPath?: string | undefined }): Promise<void> {
    this.#record("NodeUnpublishVolume", request);
    const { targetPath = "" } = request;
    this.mounted.delete(targetPath);
    if (this.#publishes === "folder") await rm(join(targetPath, "data"), { force: true });
    if (this.#input.removesTarget === true) await rm(targetPath, { recursive: true, force: true });
  }

  async getVolumeStats(request: object): Promise<{ readonly usage: readonly VolumeUsage[] }> {
    this.#record("NodeGetVolumeStats", request);
    return {
      usage: (this.usage ?? []).map(({ unit = "UNKNOWN", available = 0, total = 0, used = 0 }) => ({
        unit: Unit[unit],
        available: BigInt(available),
        total: BigInt(total),
        used: BigInt(used),
      })),
    };
  }

  async expandVolume(request: object): Promise<{ readonly capacityBytes: bigint }> {
    this.#record("NodeExpandVolume", request);
    return { capacityBytes: BigInt(this.capacityBytes) };
  }

  #record(method: string, request: object): void {
    const failure = this.#failures.get(method)?.[0]?.code;
    const result = failure === undefined ? {} : { result: failure };
    this.calls.push({ method, request: encodeMessage(request), ...result });
    this.#fail(method);
  }

  #fail(method: string): void {
    const { code, message = "" } = this.#failures.get(method)?.shift() ?? {};
    if (code === undefined) return;
    throw new CsiCallError((code === "Canceled" ? "Cancelled" : code) as RuntimeErrorCode, message);
  }
}

const modeNames = new Map(Object.entries(Mode).map(([name, number]) => [number, name]));

/** A message with the names of its proto; what has its default is left out. */
export function encodeMessage(message: object): unknown {
  const fields = Object.entries(message).flatMap(([name, value]: [string, unknown]) => {
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (/^(secrets|publishContext|volumeContext)$/.test(name)) return [[key, value]];
    const encoded = name === "mode" ? modeNames.get(value as Mode) : encodeValue(value);
    const isDefault = encoded === "" || encoded === false || encoded === "UNKNOWN";
    return encoded === undefined || isDefault ? [] : [[key, encoded]];
  });
  return Object.fromEntries(fields);
}

function encodeValue(value: unknown): unknown {
  if (typeof value === "bigint") return value === 0n ? undefined : String(value);
  if (Array.isArray(value) || typeof value !== "object" || value === null) return value;
  return encodeMessage(value);
}
