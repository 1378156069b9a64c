import * as wire from "../../generated/cri.ts";
import type * as cri from "../../model/generated/cri.ts";
import type { GrpcMethod } from "../grpc/grpc-connection.ts";
import { grpcMethod } from "../grpc/grpc-method.ts";

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
  version: grpcMethod(runtime.version, wire.VersionRequest),
  runPodSandbox: grpcMethod(runtime.runPodSandbox, wire.RunPodSandboxRequest),
  stopPodSandbox: grpcMethod(runtime.stopPodSandbox, wire.StopPodSandboxRequest),
  removePodSandbox: grpcMethod(runtime.removePodSandbox, wire.RemovePodSandboxRequest),
  podSandboxStatus: grpcMethod(runtime.podSandboxStatus, wire.PodSandboxStatusRequest),
  listPodSandbox: grpcMethod(runtime.listPodSandbox, wire.ListPodSandboxRequest),
  createContainer: grpcMethod(runtime.createContainer, wire.CreateContainerRequest),
  startContainer: grpcMethod(runtime.startContainer, wire.StartContainerRequest),
  stopContainer: grpcMethod(runtime.stopContainer, wire.StopContainerRequest),
  removeContainer: grpcMethod(runtime.removeContainer, wire.RemoveContainerRequest),
  listContainers: grpcMethod(runtime.listContainers, wire.ListContainersRequest),
  containerStatus: grpcMethod(runtime.containerStatus, wire.ContainerStatusRequest),
  updateContainerResources: grpcMethod(
    runtime.updateContainerResources,
    wire.UpdateContainerResourcesRequest,
  ),
  reopenContainerLog: grpcMethod(runtime.reopenContainerLog, wire.ReopenContainerLogRequest),
  execSync: {
    ...grpcMethod(runtime.execSync, wire.ExecSyncRequest),
    maxFieldBytes: execOutputBytes,
  },
  execSyncWhole: grpcMethod(runtime.execSync, wire.ExecSyncRequest),
  exec: grpcMethod(runtime.exec, wire.ExecRequest),
  attach: grpcMethod(runtime.attach, wire.AttachRequest),
  portForward: grpcMethod(runtime.portForward, wire.PortForwardRequest),
  checkpointContainer: grpcMethod(runtime.checkpointContainer, wire.CheckpointContainerRequest),
  listContainerStats: grpcMethod(runtime.listContainerStats, wire.ListContainerStatsRequest),
  listPodSandboxStats: grpcMethod(runtime.listPodSandboxStats, wire.ListPodSandboxStatsRequest),
  updateRuntimeConfig: grpcMethod(runtime.updateRuntimeConfig, wire.UpdateRuntimeConfigRequest),
  status: grpcMethod(runtime.status, wire.StatusRequest),
  runtimeConfig: grpcMethod(runtime.runtimeConfig, wire.RuntimeConfigRequest),
  updatePodSandboxResources: grpcMethod(
    runtime.updatePodSandboxResources,
    wire.UpdatePodSandboxResourcesRequest,
  ),
  getContainerEvents: grpcMethod(runtime.getContainerEvents, wire.GetEventsRequest),
  listImages: grpcMethod(image.listImages, wire.ListImagesRequest),
  imageStatus: grpcMethod(image.imageStatus, wire.ImageStatusRequest),
  pullImage: grpcMethod(image.pullImage, wire.PullImageRequest),
  removeImage: grpcMethod(image.removeImage, wire.RemoveImageRequest),
  imageFsInfo: grpcMethod(image.imageFsInfo, wire.ImageFsInfoRequest),
};
