import type {
  AttachRequest,
  AttachResponse,
  AuthConfig,
  Container,
  ContainerConfig,
  ContainerFilter,
  ContainerStats,
  ContainerStatsFilter,
  ContainerStatusResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncResponse,
  Image,
  ImageFsInfoResponse,
  ImageSpec,
  ImageStatusResponse,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStats,
  PodSandboxStatsFilter,
  PodSandboxStatusResponse,
  PortForwardRequest,
  PortForwardResponse,
  RuntimeConfigResponse,
  StatusResponse,
  UpdateContainerResourcesRequest,
  UpdatePodSandboxResourcesRequest,
  VersionResponse,
} from "../model/generated/cri.ts";
import type { RuntimeContainerId } from "../model/ids.ts";

/**
 * The container runtime, as the CRI v1 defines it. Every call has the driver's deadline for its kind, is
 * cancelled by `signal`, and rejects with a RuntimeError; ids are the runtime's own, without a prefix.
 */
export interface ContainerRuntime {
  version(signal: AbortSignal): Promise<VersionResponse>;
  status(verbose: boolean, signal: AbortSignal): Promise<StatusResponse>;
  runtimeConfig(signal: AbortSignal): Promise<RuntimeConfigResponse>;
  updateRuntimeConfig(podCidr: string, signal: AbortSignal): Promise<void>;

  runPodSandbox(
    config: PodSandboxConfig,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<string>;
  stopPodSandbox(sandboxId: string, signal: AbortSignal): Promise<void>;
  removePodSandbox(sandboxId: string, signal: AbortSignal): Promise<void>;
  podSandboxStatus(sandboxId: string, signal: AbortSignal): Promise<PodSandboxStatusResponse>;
  listPodSandboxes(filter: PodSandboxFilter, signal: AbortSignal): Promise<readonly PodSandbox[]>;
  updatePodSandboxResources(
    request: UpdatePodSandboxResourcesRequest,
    signal: AbortSignal,
  ): Promise<void>;

  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<RuntimeContainerId>;
  startContainer(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void>;
  /** Sends the stop signal, and kills after `timeoutSeconds`. */
  stopContainer(
    containerId: RuntimeContainerId,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void>;
  removeContainer(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void>;
  containerStatus(
    containerId: RuntimeContainerId,
    signal: AbortSignal,
  ): Promise<ContainerStatusResponse>;
  listContainers(filter: ContainerFilter, signal: AbortSignal): Promise<readonly Container[]>;
  updateContainerResources(
    request: UpdateContainerResourcesRequest,
    signal: AbortSignal,
  ): Promise<void>;
  reopenContainerLog(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void>;

  /** `timeoutSeconds` 0 = no limit but the signal's. Of what the command prints no more than 10 KiB of each stream is kept. */
  execSync(
    containerId: RuntimeContainerId,
    command: readonly string[],
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<ExecSyncResponse>;
  /** Without a time limit, and with all that the command printed: up to 16 MiB. */
  execSyncWhole(
    containerId: RuntimeContainerId,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<ExecSyncResponse>;
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResponse>;
  attach(request: AttachRequest, signal: AbortSignal): Promise<AttachResponse>;
  portForward(request: PortForwardRequest, signal: AbortSignal): Promise<PortForwardResponse>;

  /** Writes the state of a running container to a file; `timeoutSeconds` only lengthens the usual deadline. */
  checkpointContainer(
    containerId: RuntimeContainerId,
    location: string,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void>;

  listContainerStats(
    filter: ContainerStatsFilter,
    signal: AbortSignal,
  ): Promise<readonly ContainerStats[]>;
  listPodSandboxStats(
    filter: PodSandboxStatsFilter,
    signal: AbortSignal,
  ): Promise<readonly PodSandboxStats[]>;
}

/** The runtime's image side. */
export interface ImageService {
  /** `verbose` asks for the image's own config beside its record. */
  imageStatus(
    image: ImageSpec,
    verbose: boolean,
    signal: AbortSignal,
  ): Promise<ImageStatusResponse>;
  listImages(signal: AbortSignal): Promise<readonly Image[]>;
  /** Answers the reference of the pulled image. */
  pullImage(
    image: ImageSpec,
    auth: AuthConfig | undefined,
    sandboxConfig: PodSandboxConfig | undefined,
    signal: AbortSignal,
  ): Promise<string>;
  removeImage(image: ImageSpec, signal: AbortSignal): Promise<void>;
  imageFsInfo(signal: AbortSignal): Promise<ImageFsInfoResponse>;
}
