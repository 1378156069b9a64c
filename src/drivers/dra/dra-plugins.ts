import * as v1 from "../../generated/dra.ts";
import { DRAResourceHealthService, NodeWatchResourcesRequest } from "../../generated/dra-health.ts";
import * as v1beta1 from "../../generated/dra-v1beta1.ts";
import { Backoff } from "../../lib/backoff.ts";
import { sleep } from "../../lib/timers.ts";
import type * as plain from "../../model/generated/dra.ts";
import type { DeviceHealth, NodeWatchResourcesResponse } from "../../model/generated/dra-health.ts";
import type { DraPluginClient, DraPlugins, DraServiceName } from "../../ports/dra-plugins.ts";
import { withGoText } from "../grpc/go-call-text.ts";
import { GrpcConnection, type GrpcMethod } from "../grpc/grpc-connection.ts";
import { grpcMethod } from "../grpc/grpc-method.ts";

/** The kubelet's deadline of a call. */
const callTimeoutMs = 45_000;
/** A driver that reports without end is read so often. */
const healthPauseMs = 20;
/** gRPC's own between tries to connect. */
const reconnect = { initialMs: 1000, maxMs: 120_000 };

interface DraMethods {
  readonly prepare: GrpcMethod<
    plain.NodePrepareResourcesRequest,
    plain.NodePrepareResourcesResponse
  >;
  readonly unprepare: GrpcMethod<
    plain.NodeUnprepareResourcesRequest,
    plain.NodeUnprepareResourcesResponse
  >;
}

// What v1beta1 answers lacks one field that is optional in v1.
const methods: Readonly<Record<DraServiceName, DraMethods>> = {
  "v1.DRAPlugin": {
    prepare: grpcMethod(v1.DRAPluginService.nodePrepareResources, v1.NodePrepareResourcesRequest),
    unprepare: grpcMethod(
      v1.DRAPluginService.nodeUnprepareResources,
      v1.NodeUnprepareResourcesRequest,
    ),
  },
  "v1beta1.DRAPlugin": {
    prepare: grpcMethod(
      v1beta1.DRAPluginService.nodePrepareResources,
      v1beta1.NodePrepareResourcesRequest,
    ),
    unprepare: grpcMethod(
      v1beta1.DRAPluginService.nodeUnprepareResources,
      v1beta1.NodeUnprepareResourcesRequest,
    ),
  },
};
const watchHealth: GrpcMethod<object, NodeWatchResourcesResponse> = grpcMethod(
  DRAResourceHealthService.nodeWatchResources,
  NodeWatchResourcesRequest,
);

interface DraPluginsOptions {
  /** Shorter deadlines, for tests. */
  readonly timeoutMs?: number | undefined;
}

/** DRA drivers over gRPC. */
export function createDraPlugins({
  timeoutMs = callTimeoutMs,
}: DraPluginsOptions = {}): DraPlugins {
  return {
    connect: (socketPath, service, onConnected) => {
      const connection = new GrpcConnection(socketPath, undefined);
      const closed = new AbortController();
      void keepConnected(connection, onConnected, closed.signal);
      const client = clientOf(connection, socketPath, methods[service], timeoutMs);
      const close = (): void => {
        closed.abort(new Error("the client was closed"));
        connection.close();
      };
      return { ...client, close };
    },
  };
}

/** Never rejects. */
async function keepConnected(
  connection: GrpcConnection,
  onConnected: (isConnected: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(reconnect);
  while (!signal.aborted) {
    try {
      await connection.open(signal);
      backoff.reset();
      onConnected(true);
      await connection.whenLost(signal);
      if (!signal.aborted) onConnected(false);
      // A driver that is replaced serves its socket again soon, and one that takes connections only to drop them must not keep the agent busy.
      await sleep(reconnect.initialMs, signal, { keepsAlive: false });
    } catch {
      if (signal.aborted) return;
      await sleep(backoff.nextMs(), signal, { keepsAlive: false }).catch(() => undefined);
    }
  }
}

function clientOf(
  connection: GrpcConnection,
  socketPath: string,
  { prepare, unprepare }: DraMethods,
  timeoutMs: number,
): Omit<DraPluginClient, "close"> {
  return {
    nodePrepareResources: (request, signal) =>
      withGoText(socketPath, connection.send(prepare, request, timeoutMs, signal)),
    nodeUnprepareResources: (request, signal) =>
      withGoText(socketPath, connection.send(unprepare, request, timeoutMs, signal)),
    watchHealth: (onReport, signal) => {
      // A report may leave devices out: those that come together are one.
      let reported: DeviceHealth[] = [];
      const handlers = {
        metadata: {},
        onMessage: ({ devices = [] }: NodeWatchResourcesResponse): void => {
          reported.push(...devices);
        },
        pauses: {
          ms: healthPauseMs,
          onMessages: () => {
            const devices = reported;
            reported = [];
            onReport(devices);
          },
        },
      };
      return withGoText(socketPath, connection.stream(watchHealth, {}, handlers, signal));
    },
  };
}
