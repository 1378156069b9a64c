import { type CsiFailure, callFailure } from "../../../core/storage/csi/csi-errors.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { CsiCallError, grpcCodeName } from "../../../model/csi-call-error.ts";
import {
  NodeServiceCapability_RPC_Type as Capability,
  type NodeExpandVolumeRequest,
  type NodeGetVolumeStatsResponse,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
} from "../../../model/generated/csi.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { CsiDrivers, CsiNodeClient } from "../../../ports/csi-drivers.ts";
import type { Metrics } from "../../../ports/metrics.ts";
import type { CsiDriverRegistry } from "../../plugins/csi-driver-registry.ts";

type Answer<T> = Promise<Result<T, CsiFailure>>;

export interface CsiClientsDeps {
  readonly drivers: CsiDrivers;
  readonly registry: CsiDriverRegistry;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Opens the drivers of volumes by name. */
export class CsiClients {
  readonly #deps: CsiClientsDeps;

  constructor(deps: CsiClientsDeps) {
    this.#deps = deps;
  }

  /** `isMigrated`: for the metrics, whether the volume was translated from an in-tree kind. */
  open(driverName: string, isMigrated: boolean): Result<CsiCalls, string> {
    if (driverName === "") return err("driver name is empty");
    const { drivers, registry, metrics, clock } = this.#deps;
    const found = registry.drivers.get(driverName);
    if (found === undefined) {
      return err(`driver name ${driverName} not found in the list of registered CSI drivers`);
    }
    const meter = { driverName, isMigrated, metrics, clock };
    return ok(new CsiCalls(drivers.connect(found.endpoint), meter));
  }
}

interface CallMeter {
  readonly driverName: string;
  readonly isMigrated: boolean;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** The calls of one driver: each is measured, and a failure says what it leaves behind. An abort rejects. */
export class CsiCalls {
  readonly #client: CsiNodeClient;
  readonly #meter: CallMeter;

  constructor(client: CsiNodeClient, meter: CallMeter) {
    this.#client = client;
    this.#meter = meter;
  }

  /** Asked each time: a driver may have been replaced by one that can do more, or less. */
  async supports(capability: Capability, signal: AbortSignal): Answer<boolean> {
    const listed = await this.#call(
      "NodeGetCapabilities",
      (client) => client.getCapabilities(signal),
      signal,
    );
    if (!listed.ok) return listed;
    return ok(listed.value.some(({ rpc }) => rpc?.type === capability));
  }

  supportsMultiWriter(signal: AbortSignal): Answer<boolean> {
    return this.supports(Capability.SINGLE_NODE_MULTI_WRITER, signal);
  }

  async stage(request: NodeStageVolumeRequest, signal: AbortSignal): Answer<void> {
    const send = (client: CsiNodeClient): Promise<void> => client.stageVolume(request, signal);
    return asAnswer(await this.#call("NodeStageVolume", send, signal));
  }

  async publish(request: NodePublishVolumeRequest, signal: AbortSignal): Answer<void> {
    const send = (client: CsiNodeClient): Promise<void> => client.publishVolume(request, signal);
    return asAnswer(await this.#call("NodePublishVolume", send, signal));
  }

  unpublish(volumeId: string, targetPath: string, signal: AbortSignal): Answer<void> {
    const missing = missingField(volumeId);
    if (missing !== undefined) return Promise.resolve(missing);
    return this.#call(
      "NodeUnpublishVolume",
      (client) => client.unpublishVolume({ volumeId, targetPath }, signal),
      signal,
    );
  }

  unstage(volumeId: string, stagingTargetPath: string, signal: AbortSignal): Answer<void> {
    const missing = missingField(volumeId);
    if (missing !== undefined) return Promise.resolve(missing);
    return this.#call(
      "NodeUnstageVolume",
      (client) => client.unstageVolume({ volumeId, stagingTargetPath }, signal),
      signal,
    );
  }

  async expand(request: NodeExpandVolumeRequest, signal: AbortSignal): Answer<void> {
    const done = await this.#call(
      "NodeExpandVolume",
      (client) => client.expandVolume(request, signal),
      signal,
    );
    return done.ok ? ok(undefined) : done;
  }

  volumeStats(
    volumeId: string,
    volumePath: string,
    signal: AbortSignal,
  ): Answer<NodeGetVolumeStatsResponse> {
    const missing = missingField(volumeId);
    if (missing !== undefined) return Promise.resolve(missing);
    return this.#call(
      "NodeGetVolumeStats",
      (client) => client.getVolumeStats({ volumeId, volumePath }, signal),
      signal,
    );
  }

  async #call<T>(
    method: string,
    send: (client: CsiNodeClient) => Promise<T>,
    signal: AbortSignal,
  ): Answer<T> {
    const { clock } = this.#meter;
    const startedMs = clock.monotonicMs();
    try {
      const answer = await send(this.#client);
      this.#observe(method, "OK", startedMs);
      return ok(answer);
    } catch (error) {
      if (!(error instanceof CsiCallError)) throw error;
      this.#observe(method, grpcCodeName(error.code), startedMs);
      signal.throwIfAborted();
      return err(callFailure(error.code, error.message));
    }
  }

  #observe(method: string, code: string, startedMs: number): void {
    const { metrics, clock, driverName, isMigrated } = this.#meter;
    metrics.observe("csi_operations_seconds", (clock.monotonicMs() - startedMs) / 1000, {
      driver_name: driverName,
      method_name: `/csi.v1.Node/${method}`,
      grpc_status_code: code,
      migrated: String(isMigrated),
    });
  }
}

function asAnswer(result: Result<void, CsiFailure>): Result<void, CsiFailure> {
  return result.ok ? result : err({ ...result.error, isAnswer: true });
}

/** A call without a volume is not made. */
export function missingField(volumeId: string): Result<never, CsiFailure> | undefined {
  return volumeId === "" ? err({ kind: "final", message: "missing volume id" }) : undefined;
}
