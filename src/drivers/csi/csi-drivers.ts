import { CsiCallError } from "../../model/csi-call-error.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { CsiDrivers, CsiNodeClient } from "../../ports/csi-drivers.ts";
import { goCallText } from "../grpc/go-call-text.ts";
import { GrpcConnection, type GrpcMethod } from "../grpc/grpc-connection.ts";
import { CSI_METHODS } from "./csi-methods.ts";

/** The kubelet's deadline of every call. */
const callTimeoutMs = 120_000;

interface CsiDriversOptions {
  /** Shorter deadlines, for tests. */
  readonly timeoutMs?: number | undefined;
}

/** CSI drivers over gRPC. */
export function createCsiDrivers({
  timeoutMs = callTimeoutMs,
}: CsiDriversOptions = {}): CsiDrivers {
  return { connect: (endpoint) => connect(endpoint, timeoutMs) };
}

function connect(endpoint: string, timeoutMs: number): CsiNodeClient {
  // One connection for each call: a driver that is replaced binds its socket again while the old process may still
  // hold its side of a connection open.
  const call = async <Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> => {
    const connection = new GrpcConnection(endpoint, undefined);
    try {
      return await connection.send(method, request, timeoutMs, signal);
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      const { code, cause } = error;
      throw new CsiCallError(code, goCallText(endpoint, error), { cause });
    } finally {
      connection.close();
    }
  };
  return {
    getInfo: (signal) => call(CSI_METHODS.getInfo, {}, signal),
    getCapabilities: async (signal) => {
      const { capabilities = [] } = await call(CSI_METHODS.getCapabilities, {}, signal);
      return capabilities;
    },
    stageVolume: async (request, signal) => {
      await call(CSI_METHODS.stageVolume, request, signal);
    },
    unstageVolume: async (request, signal) => {
      await call(CSI_METHODS.unstageVolume, request, signal);
    },
    publishVolume: async (request, signal) => {
      await call(CSI_METHODS.publishVolume, request, signal);
    },
    unpublishVolume: async (request, signal) => {
      await call(CSI_METHODS.unpublishVolume, request, signal);
    },
    getVolumeStats: (request, signal) => call(CSI_METHODS.getVolumeStats, request, signal),
    expandVolume: (request, signal) => call(CSI_METHODS.expandVolume, request, signal),
  };
}
