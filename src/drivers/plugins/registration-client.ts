import { RegistrationService } from "../../generated/plugin-registration.ts";
import type { PluginAnswer, PluginClient, PluginStatus } from "../../ports/plugin-sockets.ts";
import { GrpcConnection, type GrpcMethod } from "../grpc/grpc-connection.ts";

/** An answer holds a few names: much less than gRPC's own limit. */
const maxMessageBytes = 64 * 1024;

const getInfo: GrpcMethod<object, PluginAnswer> = {
  path: RegistrationService.getInfo.path,
  serialize: RegistrationService.getInfo.requestSerialize,
  deserialize: RegistrationService.getInfo.responseDeserialize,
  maxMessageBytes,
};

const notify: GrpcMethod<PluginStatus, object> = {
  path: RegistrationService.notifyRegistrationStatus.path,
  serialize: RegistrationService.notifyRegistrationStatus.requestSerialize,
  deserialize: RegistrationService.notifyRegistrationStatus.responseDeserialize,
  maxMessageBytes,
};

/** Connects to the registration service of a plugin. */
export async function connectPlugin(
  socketPath: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<PluginClient> {
  const connection = new GrpcConnection(socketPath, undefined);
  try {
    await connection.whenServed(timeoutMs, signal);
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    getInfo: (limitMs, callSignal) => connection.call(getInfo, {}, limitMs, callSignal),
    notifyRegistrationStatus: async (status, limitMs, callSignal) => {
      await connection.call(notify, status, limitMs, callSignal);
    },
    close: () => connection.close(),
  };
}
