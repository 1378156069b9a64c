import type {
  NodeExpandVolumeRequest,
  NodeExpandVolumeResponse,
  NodeGetInfoResponse,
  NodeGetVolumeStatsRequest,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeServiceCapability,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from "../model/generated/csi.ts";

/**
 * The node service of one CSI driver. A call that fails or passes its deadline rejects with a CsiCallError; when
 * `signal` aborts, with one that is Cancelled, and the call is cancelled in the driver too.
 */
export interface CsiNodeClient {
  getInfo(signal: AbortSignal): Promise<NodeGetInfoResponse>;
  getCapabilities(signal: AbortSignal): Promise<readonly NodeServiceCapability[]>;
  stageVolume(request: NodeStageVolumeRequest, signal: AbortSignal): Promise<void>;
  unstageVolume(request: NodeUnstageVolumeRequest, signal: AbortSignal): Promise<void>;
  publishVolume(request: NodePublishVolumeRequest, signal: AbortSignal): Promise<void>;
  unpublishVolume(request: NodeUnpublishVolumeRequest, signal: AbortSignal): Promise<void>;
  getVolumeStats(
    request: NodeGetVolumeStatsRequest,
    signal: AbortSignal,
  ): Promise<NodeGetVolumeStatsResponse>;
  expandVolume(
    request: NodeExpandVolumeRequest,
    signal: AbortSignal,
  ): Promise<NodeExpandVolumeResponse>;
}

/** The CSI drivers of this node, by their sockets. */
export interface CsiDrivers {
  /** `endpoint` is the path of a unix socket. Nothing is opened before the first call, and nothing stays open after one. */
  connect(endpoint: string): CsiNodeClient;
}
