import type {
  AllocateRequest,
  AllocateResponse,
  Device,
  DevicePluginOptions,
  PreferredAllocationRequest,
  PreferredAllocationResponse,
  PreStartContainerRequest,
  RegisterRequest,
} from "../model/generated/device-plugin.ts";
import type { SocketServer } from "./socket-server.ts";

/** A device plugin, v1beta1. Calls reject with a RuntimeError and have no deadline but `signal`, which cancels them in the plugin too. */
export interface DevicePluginClient {
  getOptions(signal: AbortSignal): Promise<DevicePluginOptions>;
  /** Calls back with each whole list. Resolves when `signal` aborts; rejects when the plugin ends the stream or is gone. */
  listAndWatch(onDevices: (devices: readonly Device[]) => void, signal: AbortSignal): Promise<void>;
  getPreferredAllocation(
    request: PreferredAllocationRequest,
    signal: AbortSignal,
  ): Promise<PreferredAllocationResponse>;
  allocate(request: AllocateRequest, signal: AbortSignal): Promise<AllocateResponse>;
  preStartContainer(request: PreStartContainerRequest, signal: AbortSignal): Promise<void>;
  /** Calls that wait for an answer end without one. */
  close(): void;
}

export interface DevicePluginRegistration {
  /** The message of what it throws is the plugin's answer. `signal` aborts when the plugin no longer waits. */
  register(request: RegisterRequest, signal: AbortSignal): Promise<void>;
}

/** The device plugins of this node. */
export interface DevicePlugins {
  /**
   * Serves the socket at which plugins register. Sockets that lie in its folder are removed before: plugins create theirs
   * again, and register, when they see that.
   */
  serve(socketPath: string, registration: DevicePluginRegistration): Promise<SocketServer>;
  /** Resolves when the plugin has accepted the connection; rejects after ten seconds without one. */
  connect(socketPath: string, signal: AbortSignal): Promise<DevicePluginClient>;
}
