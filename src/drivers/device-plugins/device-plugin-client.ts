import * as wire from "../../generated/device-plugin.ts";
import { DeadlineError, withDeadline } from "../../lib/deadline.ts";
import { sleep, startTimer } from "../../lib/timers.ts";
import type * as plain from "../../model/generated/device-plugin.ts";
import type { DevicePluginClient } from "../../ports/device-plugins.ts";
import { withGoText } from "../grpc/go-call-text.ts";
import { GrpcConnection, type GrpcMethod } from "../grpc/grpc-connection.ts";
import { grpcMethod } from "../grpc/grpc-method.ts";

/** The kubelet's: for as long it tries to connect to a plugin that registers. */
const connectTimeoutMs = 10_000;
const connectPauseMs = 100;
/** A plugin that reports without end is read so often. */
const listPauseMs = 20;

interface DevicePluginMethods {
  readonly getOptions: GrpcMethod<plain.Empty, plain.DevicePluginOptions>;
  readonly listAndWatch: GrpcMethod<plain.Empty, plain.ListAndWatchResponse>;
  readonly prefer: GrpcMethod<plain.PreferredAllocationRequest, plain.PreferredAllocationResponse>;
  readonly allocate: GrpcMethod<plain.AllocateRequest, plain.AllocateResponse>;
  readonly preStart: GrpcMethod<plain.PreStartContainerRequest, plain.PreStartContainerResponse>;
}

const service = wire.DevicePluginService;
const methods: DevicePluginMethods = {
  getOptions: grpcMethod(service.getDevicePluginOptions, wire.Empty),
  listAndWatch: grpcMethod(service.listAndWatch, wire.Empty),
  prefer: grpcMethod(service.getPreferredAllocation, wire.PreferredAllocationRequest),
  allocate: grpcMethod(service.allocate, wire.AllocateRequest),
  preStart: grpcMethod(service.preStartContainer, wire.PreStartContainerRequest),
};

interface ConnectOptions {
  /** Shorter deadlines, for tests. */
  readonly timeoutMs?: number | undefined;
}

/** A plugin may register a moment before it serves its socket: until the deadline it is tried again. */
export async function connectDevicePlugin(
  socketPath: string,
  signal: AbortSignal,
  { timeoutMs = connectTimeoutMs }: ConnectOptions = {},
): Promise<DevicePluginClient> {
  const connection = new GrpcConnection(socketPath, undefined);
  try {
    const limit = { ms: timeoutMs, what: `the connection to ${socketPath}` };
    await withDeadline({ startTimer }, limit, signal, async (late) => {
      while (!(await isServed(connection, timeoutMs, late))) await sleep(connectPauseMs, late);
    });
  } catch (error) {
    connection.close();
    if (!(error instanceof DeadlineError)) throw error;
    // As the kubelet's text, which names no plugin.
    throw new Error("failed to dial device plugin: context deadline exceeded", { cause: error });
  }
  return clientOf(connection, socketPath);
}

async function isServed(
  connection: GrpcConnection,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await connection.whenServed(timeoutMs, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    connection.close();
    return false;
  }
}

function clientOf(connection: GrpcConnection, socketPath: string): DevicePluginClient {
  const call = <Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> =>
    withGoText(socketPath, connection.send(method, request, undefined, signal));
  return {
    getOptions: (signal) => call(methods.getOptions, {}, signal),
    listAndWatch: (onDevices, signal) => {
      // Each list is whole: of those that come together the newest counts.
      let newest: readonly plain.Device[] = [];
      const handlers = {
        metadata: {},
        onMessage: ({ devices = [] }: plain.ListAndWatchResponse): void => {
          newest = devices;
        },
        pauses: { ms: listPauseMs, onMessages: () => onDevices(newest) },
      };
      return withGoText(socketPath, connection.stream(methods.listAndWatch, {}, handlers, signal));
    },
    getPreferredAllocation: (request, signal) => call(methods.prefer, request, signal),
    allocate: (request, signal) => call(methods.allocate, request, signal),
    preStartContainer: async (request, signal) => {
      await call(methods.preStart, request, signal);
    },
    close: () => connection.close(),
  };
}
