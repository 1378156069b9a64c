import * as wire from "../../generated/csi.ts";
import type * as csi from "../../model/generated/csi.ts";
import type { GrpcMethod } from "../grpc/grpc-connection.ts";
import { grpcMethod } from "../grpc/grpc-method.ts";

interface CsiMethods {
  readonly getInfo: GrpcMethod<csi.NodeGetInfoRequest, csi.NodeGetInfoResponse>;
  readonly getCapabilities: GrpcMethod<
    csi.NodeGetCapabilitiesRequest,
    csi.NodeGetCapabilitiesResponse
  >;
  readonly stageVolume: GrpcMethod<csi.NodeStageVolumeRequest, csi.NodeStageVolumeResponse>;
  readonly unstageVolume: GrpcMethod<csi.NodeUnstageVolumeRequest, csi.NodeUnstageVolumeResponse>;
  readonly publishVolume: GrpcMethod<csi.NodePublishVolumeRequest, csi.NodePublishVolumeResponse>;
  readonly unpublishVolume: GrpcMethod<
    csi.NodeUnpublishVolumeRequest,
    csi.NodeUnpublishVolumeResponse
  >;
  readonly getVolumeStats: GrpcMethod<
    csi.NodeGetVolumeStatsRequest,
    csi.NodeGetVolumeStatsResponse
  >;
  readonly expandVolume: GrpcMethod<csi.NodeExpandVolumeRequest, csi.NodeExpandVolumeResponse>;
}

const node = wire.NodeService;

/** The calls of a CSI driver that Berth makes. */
export const CSI_METHODS: CsiMethods = {
  getInfo: grpcMethod(node.nodeGetInfo, wire.NodeGetInfoRequest),
  getCapabilities: grpcMethod(node.nodeGetCapabilities, wire.NodeGetCapabilitiesRequest),
  stageVolume: grpcMethod(node.nodeStageVolume, wire.NodeStageVolumeRequest),
  unstageVolume: grpcMethod(node.nodeUnstageVolume, wire.NodeUnstageVolumeRequest),
  publishVolume: grpcMethod(node.nodePublishVolume, wire.NodePublishVolumeRequest),
  unpublishVolume: grpcMethod(node.nodeUnpublishVolume, wire.NodeUnpublishVolumeRequest),
  getVolumeStats: grpcMethod(node.nodeGetVolumeStats, wire.NodeGetVolumeStatsRequest),
  expandVolume: grpcMethod(node.nodeExpandVolume, wire.NodeExpandVolumeRequest),
};
