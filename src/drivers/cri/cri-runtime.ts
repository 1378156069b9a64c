import { sleep } from "../../lib/timers.ts";
import { withEither } from "../../lib/with-either.ts";
import type * as cri from "../../model/generated/cri.ts";
import { type RuntimeContainerId, runtimeContainerId } from "../../model/ids.ts";
import { parseRuntimeEndpoint } from "../../model/runtime-endpoint.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime, ImageService } from "../../ports/container-runtime.ts";
import { GrpcConnection, type GrpcMethod, type GrpcObserver } from "../grpc/grpc-connection.ts";
import { CRI_METHODS } from "./cri-methods.ts";

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_SECONDS = 9_223_372_036;
// Longer than a runtime needs to refuse a stream it has read.
const STREAM_SETTLE_MS = 50;

export interface CriRuntimeOptions {
  /** Notified of every finished call. */
  readonly onCall?: GrpcObserver | undefined;
  /** How long a call may take beyond what it waits for; the default is the kubelet's. */
  readonly timeoutMs?: number | undefined;
  /** Where images are, if not at the same endpoint. */
  readonly imageEndpoint?: string | undefined;
}

export interface EventStream<Request, Message> {
  readonly method: GrpcMethod<Request, Message>;
  readonly request: Request;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Connects to a CRI v1 runtime on a unix socket; throws on any other endpoint. */
export function createCriRuntime(endpoint: string, options: CriRuntimeOptions = {}): CriRuntime {
  const { onCall, imageEndpoint = endpoint, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const connection = connect(endpoint, onCall);
  const images = imageEndpoint === endpoint ? connection : connect(imageEndpoint, onCall);
  return new CriRuntime({ connection, images, timeoutMs });
}

function connect(endpoint: string, onCall: GrpcObserver | undefined): GrpcConnection {
  const path = parseRuntimeEndpoint(endpoint);
  if (!path.ok) throw new Error(path.error);
  return new GrpcConnection(path.value, onCall);
}

interface CriConnections {
  readonly connection: GrpcConnection;
  /** The same, or another one. */
  readonly images: GrpcConnection;
  readonly timeoutMs: number;
}

/** The CRI v1 of a runtime. Deadlines are the kubelet's. */
export class CriRuntime implements ContainerRuntime, ImageService, AsyncDisposable {
  readonly #connection: GrpcConnection;
  readonly #images: GrpcConnection;
  readonly #timeoutMs: number;

  constructor({ connection, images, timeoutMs }: CriConnections) {
    this.#connection = connection;
    this.#images = images;
    this.#timeoutMs = timeoutMs;
  }

  close(): void {
    this.#connection.close();
    this.#images.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> {
    return this.#connection.call(method, request, this.#timeoutMs, signal);
  }

  #callImages<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> {
    return this.#images.call(method, request, this.#timeoutMs, signal);
  }

  /**
   * Hands over the messages of an event stream on the runtime's socket; rejects when it breaks. Runtimes say
   * nothing before the first event, so the stream counts as subscribed when a call made after it is answered.
   */
  async subscribe<Request, Message>(
    stream: EventStream<Request, Message>,
    onSubscribed: () => void,
    onMessage: (message: Message) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const ended = new AbortController();
    let announced = false;
    const announce = (): void => {
      if (!announced && !ended.signal.aborted && !signal.aborted) onSubscribed();
      announced = true;
    };
    const handlers = { ...stream, onHeaders: announce, onMessage };
    // A runtime that starts may hold the stream open and refuse calls: the subscriber must retry, not wait.
    const refused = new AbortController();
    const messages = withEither([signal, refused.signal], (either) =>
      this.#connection.stream(stream.method, stream.request, handlers, either),
    ).finally(() => ended.abort());
    const settled = this.#connection
      .send(CRI_METHODS.version, {}, this.#timeoutMs, ended.signal)
      .then(() => sleep(STREAM_SETTLE_MS, ended.signal))
      .then(announce, (error: unknown) => {
        if (!announced) refused.abort(error);
      });
    await Promise.all([messages, settled]);
    refused.signal.throwIfAborted();
  }

  /** All messages of another service's answer on the runtime's socket. */
  collect<Request, Message>(
    { method, request, metadata }: EventStream<Request, Message>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly Message[]> {
    return this.#connection.collect(method, request, { metadata, timeoutMs }, signal);
  }

  version(signal: AbortSignal): Promise<cri.VersionResponse> {
    return this.#call(CRI_METHODS.version, { version: "0.1.0" }, signal);
  }

  status(verbose: boolean, signal: AbortSignal): Promise<cri.StatusResponse> {
    return this.#call(CRI_METHODS.status, { verbose }, signal);
  }

  runtimeConfig(signal: AbortSignal): Promise<cri.RuntimeConfigResponse> {
    return this.#call(CRI_METHODS.runtimeConfig, {}, signal);
  }

  async updateRuntimeConfig(podCidr: string, signal: AbortSignal): Promise<void> {
    const runtimeConfig = { networkConfig: { podCidr } };
    await this.#call(CRI_METHODS.updateRuntimeConfig, { runtimeConfig }, signal);
  }

  async runPodSandbox(
    config: cri.PodSandboxConfig,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<string> {
    const request = { config, runtimeHandler };
    const { podSandboxId } = await this.#connection.call(
      CRI_METHODS.runPodSandbox,
      request,
      2 * this.#timeoutMs,
      signal,
    );
    return required("RunPodSandbox", "pod_sandbox_id", podSandboxId);
  }

  async stopPodSandbox(podSandboxId: string, signal: AbortSignal): Promise<void> {
    await this.#call(CRI_METHODS.stopPodSandbox, { podSandboxId }, signal);
  }

  async removePodSandbox(podSandboxId: string, signal: AbortSignal): Promise<void> {
    await this.#call(CRI_METHODS.removePodSandbox, { podSandboxId }, signal);
  }

  podSandboxStatus(
    podSandboxId: string,
    signal: AbortSignal,
  ): Promise<cri.PodSandboxStatusResponse> {
    return this.#call(CRI_METHODS.podSandboxStatus, { podSandboxId }, signal);
  }

  async listPodSandboxes(
    filter: cri.PodSandboxFilter,
    signal: AbortSignal,
  ): Promise<readonly cri.PodSandbox[]> {
    return (await this.#call(CRI_METHODS.listPodSandbox, { filter }, signal)).items ?? [];
  }

  async updatePodSandboxResources(
    request: cri.UpdatePodSandboxResourcesRequest,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#call(CRI_METHODS.updatePodSandboxResources, request, signal);
  }

  async createContainer(
    podSandboxId: string,
    config: cri.ContainerConfig,
    sandboxConfig: cri.PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<RuntimeContainerId> {
    const request = { podSandboxId, config, sandboxConfig };
    const { containerId } = await this.#call(CRI_METHODS.createContainer, request, signal);
    return runtimeContainerId(required("CreateContainer", "container_id", containerId));
  }

  async startContainer(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void> {
    await this.#call(CRI_METHODS.startContainer, { containerId }, signal);
  }

  async stopContainer(
    containerId: RuntimeContainerId,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const request = { containerId, timeout: wholeSeconds(timeoutSeconds) };
    const timeoutMs = this.#timeoutMs + timeoutSeconds * 1000;
    await this.#connection.call(CRI_METHODS.stopContainer, request, timeoutMs, signal);
  }

  async removeContainer(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void> {
    await this.#call(CRI_METHODS.removeContainer, { containerId }, signal);
  }

  containerStatus(
    containerId: RuntimeContainerId,
    signal: AbortSignal,
  ): Promise<cri.ContainerStatusResponse> {
    return this.#call(CRI_METHODS.containerStatus, { containerId }, signal);
  }

  async listContainers(
    filter: cri.ContainerFilter,
    signal: AbortSignal,
  ): Promise<readonly cri.Container[]> {
    return (await this.#call(CRI_METHODS.listContainers, { filter }, signal)).containers ?? [];
  }

  async updateContainerResources(
    request: cri.UpdateContainerResourcesRequest,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#call(CRI_METHODS.updateContainerResources, request, signal);
  }

  async reopenContainerLog(containerId: RuntimeContainerId, signal: AbortSignal): Promise<void> {
    await this.#call(CRI_METHODS.reopenContainerLog, { containerId }, signal);
  }

  execSync(
    containerId: RuntimeContainerId,
    command: readonly string[],
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<cri.ExecSyncResponse> {
    const request = { containerId, cmd: command, timeout: wholeSeconds(timeoutSeconds) };
    // The runtime ends the command; this deadline only covers a runtime that does not.
    const timeoutMs = timeoutSeconds === 0 ? undefined : this.#timeoutMs + timeoutSeconds * 1000;
    return this.#connection.call(CRI_METHODS.execSync, request, timeoutMs, signal);
  }

  execSyncWhole(
    containerId: RuntimeContainerId,
    command: readonly string[],
    signal: AbortSignal,
  ): Promise<cri.ExecSyncResponse> {
    const request = { containerId, cmd: command, timeout: 0n };
    return this.#connection.call(CRI_METHODS.execSyncWhole, request, undefined, signal);
  }

  exec(request: cri.ExecRequest, signal: AbortSignal): Promise<cri.ExecResponse> {
    return this.#call(CRI_METHODS.exec, request, signal);
  }

  attach(request: cri.AttachRequest, signal: AbortSignal): Promise<cri.AttachResponse> {
    return this.#call(CRI_METHODS.attach, request, signal);
  }

  portForward(
    request: cri.PortForwardRequest,
    signal: AbortSignal,
  ): Promise<cri.PortForwardResponse> {
    return this.#call(CRI_METHODS.portForward, request, signal);
  }

  async checkpointContainer(
    containerId: RuntimeContainerId,
    location: string,
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const timeoutMs = Math.max(timeoutSeconds * 1000, this.#timeoutMs);
    const request = { containerId, location, timeout: wholeSeconds(timeoutMs / 1000) };
    await this.#connection.call(CRI_METHODS.checkpointContainer, request, timeoutMs, signal);
  }

  async listContainerStats(
    filter: cri.ContainerStatsFilter,
    signal: AbortSignal,
  ): Promise<readonly cri.ContainerStats[]> {
    return (await this.#call(CRI_METHODS.listContainerStats, { filter }, signal)).stats ?? [];
  }

  async listPodSandboxStats(
    filter: cri.PodSandboxStatsFilter,
    signal: AbortSignal,
  ): Promise<readonly cri.PodSandboxStats[]> {
    return (await this.#call(CRI_METHODS.listPodSandboxStats, { filter }, signal)).stats ?? [];
  }

  imageStatus(
    image: cri.ImageSpec,
    verbose: boolean,
    signal: AbortSignal,
  ): Promise<cri.ImageStatusResponse> {
    return this.#callImages(CRI_METHODS.imageStatus, { image, verbose }, signal);
  }

  async listImages(signal: AbortSignal): Promise<readonly cri.Image[]> {
    return (await this.#callImages(CRI_METHODS.listImages, {}, signal)).images ?? [];
  }

  async pullImage(
    image: cri.ImageSpec,
    auth: cri.AuthConfig | undefined,
    sandboxConfig: cri.PodSandboxConfig | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const request = { image, auth, sandboxConfig };
    // A pull takes as long as the network needs; only the signal ends it.
    const pulled = await this.#images.call(CRI_METHODS.pullImage, request, undefined, signal);
    return required("PullImage", "image_ref", pulled.imageRef);
  }

  async removeImage(image: cri.ImageSpec, signal: AbortSignal): Promise<void> {
    await this.#callImages(CRI_METHODS.removeImage, { image }, signal);
  }

  imageFsInfo(signal: AbortSignal): Promise<cri.ImageFsInfoResponse> {
    return this.#callImages(CRI_METHODS.imageFsInfo, {}, signal);
  }
}

/** For the runtime, which counts in nanoseconds: more than 292 years do not fit, and would be none. */
function wholeSeconds(seconds: number): bigint {
  return BigInt(Math.min(Math.ceil(seconds), MAX_SECONDS));
}

function required(method: string, field: string, value: string | undefined): string {
  if (value !== undefined && value !== "") return value;
  throw new RuntimeError(method, "Internal", `${field} is not set in the runtime's answer`);
}
