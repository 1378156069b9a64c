import * as wire from "../../generated/cri.ts";
import type * as cri from "../../model/generated/cri.ts";
import type { GrpcMethod } from "../grpc/grpc-connection.ts";

interface CriMethods {
  readonly version: GrpcMethod<cri.VersionRequest, cri.VersionResponse>;
  readonly runPodSandbox: GrpcMethod<cri.RunPodSandboxRequest, cri.RunPodSandboxResponse>;
  readonly stopPodSandbox: GrpcMethod<cri.StopPodSandboxRequest, cri.StopPodSandboxResponse>;
  readonly removePodSandbox: GrpcMethod<cri.RemovePodSandboxRequest, cri.RemovePodSandboxResponse>;
  readonly podSandboxStatus: GrpcMethod<cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse>;
  readonly listPodSandbox: GrpcMethod<cri.ListPodSandboxRequest, cri.ListPodSandboxResponse>;
  readonly createContainer: GrpcMethod<cri.CreateContainerRequest, cri.CreateContainerResponse>;
  readonly startContainer: GrpcMethod<cri.StartContainerRequest, cri.StartContainerResponse>;
  readonly stopContainer: GrpcMethod<cri.StopContainerRequest, cri.StopContainerResponse>;
  readonly removeContainer: GrpcMethod<cri.RemoveContainerRequest, cri.RemoveContainerResponse>;
  readonly listContainers: GrpcMethod<cri.ListContainersRequest, cri.ListContainersResponse>;
  readonly containerStatus: GrpcMethod<cri.ContainerStatusRequest, cri.ContainerStatusResponse>;
  readonly updateContainerResources: GrpcMethod<
    cri.UpdateContainerResourcesRequest,
    cri.UpdateContainerResourcesResponse
  >;
  readonly reopenContainerLog: GrpcMethod<
    cri.ReopenContainerLogRequest,
    cri.ReopenContainerLogResponse
  >;
  readonly execSync: GrpcMethod<cri.ExecSyncRequest, cri.ExecSyncResponse>;
  /** The same call, with all that the command printed. */
  readonly execSyncWhole: GrpcMethod<cri.ExecSyncRequest, cri.ExecSyncResponse>;
  readonly exec: GrpcMethod<cri.ExecRequest, cri.ExecResponse>;
  readonly attach: GrpcMethod<cri.AttachRequest, cri.AttachResponse>;
  readonly portForward: GrpcMethod<cri.PortForwardRequest, cri.PortForwardResponse>;
  readonly checkpointContainer: GrpcMethod<
    cri.CheckpointContainerRequest,
    cri.CheckpointContainerResponse
  >;
  readonly listContainerStats: GrpcMethod<
    cri.ListContainerStatsRequest,
    cri.ListContainerStatsResponse
  >;
  readonly listPodSandboxStats: GrpcMethod<
    cri.ListPodSandboxStatsRequest,
    cri.ListPodSandboxStatsResponse
  >;
  readonly updateRuntimeConfig: GrpcMethod<
    cri.UpdateRuntimeConfigRequest,
    cri.UpdateRuntimeConfigResponse
  >;
  readonly status: GrpcMethod<cri.StatusRequest, cri.StatusResponse>;
  readonly runtimeConfig: GrpcMethod<cri.RuntimeConfigRequest, cri.RuntimeConfigResponse>;
  readonly updatePodSandboxResources: GrpcMethod<
    cri.UpdatePodSandboxResourcesRequest,
    cri.UpdatePodSandboxResourcesResponse
  >;
  readonly getContainerEvents: GrpcMethod<cri.GetEventsRequest, cri.ContainerEventResponse>;
  readonly listImages: GrpcMethod<cri.ListImagesRequest, cri.ListImagesResponse>;
  readonly imageStatus: GrpcMethod<cri.ImageStatusRequest, cri.ImageStatusResponse>;
  readonly pullImage: GrpcMethod<cri.PullImageRequest, cri.PullImageResponse>;
  readonly removeImage: GrpcMethod<cri.RemoveImageRequest, cri.RemoveImageResponse>;
  readonly imageFsInfo: GrpcMethod<cri.ImageFsInfoRequest, cri.ImageFsInfoResponse>;
}

/** No probe or hook shows more. */
const execOutputBytes = 10 * 1024;

const runtime = wire.RuntimeServiceService;
const image = wire.ImageServiceService;

/** The calls of the CRI that Berth makes. */
export const CRI_METHODS: CriMethods = {
  version: method(runtime.version, wire.VersionRequest),
  runPodSandbox: method(runtime.runPodSandbox, wire.RunPodSandboxRequest),
  stopPodSandbox: method(runtime.stopPodSandbox, wire.StopPodSandboxRequest),
  removePodSandbox: method(runtime.removePodSandbox, wire.RemovePodSandboxRequest),
  podSandboxStatus: method(runtime.podSandboxStatus, wire.PodSandboxStatusRequest),
  listPodSandbox: method(runtime.listPodSandbox, wire.ListPodSandboxRequest),
  createContainer: method(runtime.createContainer, wire.CreateContainerRequest),
  startContainer: method(runtime.startContainer, wire.StartContainerRequest),
  stopContainer: method(runtime.stopContainer, wire.StopContainerRequest),
  removeContainer: method(runtime.removeContainer, wire.RemoveContainerRequest),
  listContainers: method(runtime.listContainers, wire.ListContainersRequest),
  containerStatus: method(runtime.containerStatus, wire.ContainerStatusRequest),
  updateContainerResources: method(
    runtime.updateContainerResources,
    wire.UpdateContainerResourcesRequest,
  ),
  reopenContainerLog: method(runtime.reopenContainerLog, wire.ReopenContainerLogRequest),
  execSync: {
    ...method(runtime.execSync, wire.ExecSyncRequest),
    maxFieldBytes: execOutputBytes,
  },
  execSyncWhole: method(runtime.execSync, wire.ExecSyncRequest),
  exec: method(runtime.exec, wire.ExecRequest),
  attach: method(runtime.attach, wire.AttachRequest),
  portForward: method(runtime.portForward, wire.PortForwardRequest),
  checkpointContainer: method(runtime.checkpointContainer, wire.CheckpointContainerRequest),
  listContainerStats: method(runtime.listContainerStats, wire.ListContainerStatsRequest),
  listPodSandboxStats: method(runtime.listPodSandboxStats, wire.ListPodSandboxStatsRequest),
  updateRuntimeConfig: method(runtime.updateRuntimeConfig, wire.UpdateRuntimeConfigRequest),
  status: method(runtime.status, wire.StatusRequest),
  runtimeConfig: method(runtime.runtimeConfig, wire.RuntimeConfigRequest),
  updatePodSandboxResources: method(
    runtime.updatePodSandboxResources,
    wire.UpdatePodSandboxResourcesRequest,
  ),
  getContainerEvents: method(runtime.getContainerEvents, wire.GetEventsRequest),
  listImages: method(image.listImages, wire.ListImagesRequest),
  imageStatus: method(image.imageStatus, wire.ImageStatusRequest),
  pullImage: method(image.pullImage, wire.PullImageRequest),
  removeImage: method(image.removeImage, wire.RemoveImageRequest),
  imageFsInfo: method(image.imageFsInfo, wire.ImageFsInfoRequest),
};

interface WireMethod<WireRequest, Response> {
  readonly path: string;
  readonly requestSerialize: (request: WireRequest) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

interface WireMessage<WireRequest> {
  readonly fromPartial: (partial: never) => WireRequest;
}

// Absent fields of a request are proto3 defaults. Wire and plain types come from one definition, so that
// a plain request always is a partial wire message.
function method<Request, Response, WireRequest>(
  definition: WireMethod<WireRequest, Response>,
  message: WireMessage<WireRequest>,
): GrpcMethod<Request, Response> {
  return {
    path: definition.path,
    serialize: (request) => definition.requestSerialize(message.fromPartial(request as never)),
    deserialize: definition.responseDeserialize,
  };
}
