import type {
  NodePrepareResourcesRequest,
  NodePrepareResourcesResponse,
  NodeUnprepareResourcesRequest,
  NodeUnprepareResourcesResponse,
} from "../model/generated/dra.ts";
import type { DeviceHealth } from "../model/generated/dra-health.ts";

/** The versions of the service of DRA drivers, as drivers name them when they register. */
export type DraServiceName = "v1.DRAPlugin" | "v1beta1.DRAPlugin";

/** An instance of a DRA driver. Calls reject with a RuntimeError, also when they pass the kubelet's deadline. */
export interface DraPluginClient {
  nodePrepareResources(
    request: NodePrepareResourcesRequest,
    signal: AbortSignal,
  ): Promise<NodePrepareResourcesResponse>;
  nodeUnprepareResources(
    request: NodeUnprepareResourcesRequest,
    signal: AbortSignal,
  ): Promise<NodeUnprepareResourcesResponse>;
  /**
   * Calls back with each report of the driver. Resolves when `signal` aborts; rejects when the driver ends the stream, is
   * gone, or does not report health, which is Unimplemented.
   */
  watchHealth(
    onReport: (devices: readonly DeviceHealth[]) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Calls that wait for an answer end without one; it is not connected again. */
  close(): void;
}

/** The DRA drivers of this node, by their sockets. */
export interface DraPlugins {
  /**
   * Connects, and again whenever the connection is lost, until the client is closed; `onConnected` is called with each
   * change, at first when it is connected.
   */
  connect(
    socketPath: string,
    service: DraServiceName,
    onConnected: (isConnected: boolean) => void,
  ): DraPluginClient;
}
