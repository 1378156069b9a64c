import { effectiveResources } from "../../core/allocation/actuated-resources.ts";
import type { ImageFailure } from "../../core/image/image-pull.ts";
import {
  containerLogsDirectory,
  legacyLogSymlink,
  nextRestartCountByLogs,
} from "../../core/paths/log-paths.ts";
import { beginAll } from "../../lib/begin-all.ts";
import { errorText } from "../../lib/error-text.ts";
import { splitPath } from "../../lib/path.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import {
  type ContainerConfig,
  ContainerState,
  type ImageSpec,
  type PodSandboxConfig,
  PodSandboxState,
} from "../../model/generated/cri.ts";
import { type RuntimeContainerId, rawContainerId, runtimeContainerId } from "../../model/ids.ts";
import { containerHashAnnotation, containerNameLabel, podUidLabel } from "../../model/labels.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import {
  type AnyContainer,
  type PlacedContainer,
  type Pod,
  podDisplayName,
} from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvent, PodEvents } from "../../ports/pod-events.ts";
import type { RecordedSpan } from "../../ports/sync-record.ts";
import type { NodeManagers } from "../devices/node-managers.ts";
import type { ImageManager, ImageRequest, ReadyImage } from "../images/image-manager.ts";
import type { PodCredentials } from "../images/pull-credentials.ts";
import { type KillDeps, killContainer } from "./kill-pod.ts";
import type { ContainerConfigRequest, PodConfigs } from "./node-pod-configs.ts";
import type { ActuatedRecord } from "./resize-pod.ts";
import { runHook } from "./run-hook.ts";
import { startSpan } from "./span.ts";
import type { StepFailure, StepOutcome } from "./step-report.ts";

/** What creating sandboxes and starting containers needs. */
export interface StartDeps {
  /** For hooks, and for containers whose postStart hook fails. */
  readonly kill: KillDeps;
  readonly runtime: ContainerRuntime;
  readonly images: ImageManager;
  readonly configs: PodConfigs;
  readonly actuated: ActuatedRecord;
  readonly files: HostFiles;
  readonly events: PodEvents;
  readonly logs: {
    readonly root: string;
    /** Whether they are linked into the folder where log collectors of clusters look for them. */
    readonly areLinked: boolean;
  };
  readonly managers: Pick<NodeManagers, "noteStarting">;
  /** Ends with the agent: a call to the runtime is not cut off because a pod's sync is. */
  readonly lifetime: AbortSignal;
}

export interface StartRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly placed: PlacedContainer;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly podIps: readonly string[];
  readonly pullCredentials: PodCredentials;
}

/** Images, create, start, log link, postStart hook. Returns what failed, in the words of a waiting state. */
export async function startContainer(
  deps: StartDeps,
  request: StartRequest,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const spans: RecordedSpan[] = [];
  const volumes = await readyImageVolumes(deps, request, signal);
  if (!volumes.ok) return imageFailure(deps, request, volumes.error);
  const outcome = await startWithVolumes(deps, { ...request, spans }, volumes.value, signal);
  countImageVolumes(deps.kill.metrics, request.placed.container, volumes.value, outcome.failure);
  return { ...outcome, spans };
}

/** What a start spends its time with goes into `spans`. */
interface MeasuredStart extends StartRequest {
  readonly spans: RecordedSpan[];
}

async function startWithVolumes(
  deps: StartDeps,
  request: MeasuredStart,
  imageVolumes: ReadonlyMap<string, ImageSpec>,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const { container } = request.placed;
  const span = startSpan(deps.kill.clock, "image");
  const image = await ensureImage(
    deps,
    request,
    {
      image: container.image ?? "",
      policy: container.imagePullPolicy ?? "IfNotPresent",
      onEvent: (event) => record(deps, request, event),
    },
    signal,
  );
  request.spans.push(span.end(image.ok ? undefined : { failed: true }));
  if (!image.ok) return imageFailure(deps, request, image.error);
  signal.throwIfAborted();
  const created = await createContainer(deps, request, { ...image.value, imageVolumes });
  if (!created.ok) {
    const message = `Error: ${created.error.message}`;
    record(deps, request, { type: "Warning", reason: "Failed", message });
    return { failure: created.error };
  }
  const { containerId, note } = created.value;
  record(deps, request, { type: "Normal", reason: "Created", message: "Container created" });
  // A pod that is being ended is spared the start; what was only created is collected later.
  signal.throwIfAborted();
  await deps.managers.noteStarting(request.pod, container, containerId);
  try {
    await deps.runtime.startContainer(containerId, deps.lifetime);
  } catch (error) {
    deps.lifetime.throwIfAborted();
    const message = errorText(error);
    // Equal events are counted, not repeated: no id may make each of them different.
    const text = message.replaceAll(containerId, container.name);
    record(deps, request, { type: "Warning", reason: "Failed", message: `Error: ${text}` });
    return { failure: { code: "RunContainerError", message } };
  }
  record(deps, request, { type: "Normal", reason: "Started", message: "Container started" });
  if (deps.logs.areLinked) await linkLog(deps, request, created.value);
  return { failure: await runPostStart(deps, request, containerId, signal), note };
}

function imageFailure(
  deps: StartDeps,
  request: StartRequest,
  { reason, message, retryAtMs }: ImageFailure,
): StepOutcome {
  record(deps, request, { type: "Warning", reason: "Failed", message: `Error: ${reason}` });
  return { failure: { code: reason, message, retryAtMs } };
}

// Log collectors of clusters look for logs by this link; a pod runs as well without it.
async function linkLog(
  { files, kill }: StartDeps,
  { pod, placed }: StartRequest,
  { containerId, logPath }: CreatedContainer,
): Promise<void> {
  const link = legacyLogSymlink(pod.metadata, placed.container.name, containerId);
  const { folder, name } = splitPath(logPath);
  try {
    // A runtime may keep logs elsewhere; a dangling link is of no use.
    if ((await files.list(folder)).includes(name)) await files.symlink(logPath, link);
  } catch (error) {
    kill.log.warn("cannot link the container log", { link, error: errorText(error) });
  }
}

async function runPostStart(
  deps: StartDeps,
  request: MeasuredStart,
  containerId: RuntimeContainerId,
  signal: AbortSignal,
): Promise<StepFailure | undefined> {
  const { pod, placed } = request;
  const { container, kind } = placed;
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) return undefined;
  const target = { pod, container, containerId, podIp: request.podIps[0] ?? "" };
  const span = startSpan(deps.kill.clock, "postStart hook");
  try {
    await runHook(deps.kill, target, handler, signal);
    request.spans.push(span.end());
    return undefined;
  } catch (error) {
    request.spans.push(span.end({ failed: true }));
    signal.throwIfAborted();
    // The hook's output may hold secrets: the event does not repeat it.
    const reason = "FailedPostStartHook";
    record(deps, request, { type: "Warning", reason, message: "PostStartHook failed" });
    const kill = { ...target, kind, message: reason, reason } as const;
    await killContainer(deps.kill, kill, signal).catch((killError: unknown) => {
      signal.throwIfAborted();
      deps.kill.log.error("cannot stop a container whose postStart hook failed", {
        pod: podDisplayName(pod),
        container: container.name,
        error: errorText(killError),
      });
    });
    return { code: "PostStartHookError", message: errorText(error) };
  }
}

function record({ events }: StartDeps, { pod, placed }: StartRequest, event: PodEvent): void {
  const container = { kind: placed.kind, name: placed.container.name };
  events.record(pod, { ...event, container });
}

/** Makes an image available, pulled if it must be. */
function ensureImage(
  { images }: StartDeps,
  { pod, placed, sandboxConfig, pullCredentials: credentials }: StartRequest,
  wanted: Pick<ImageRequest, "image" | "policy" | "onEvent">,
  signal: AbortSignal,
): ReturnType<ImageManager["ensureImage"]> {
  const { uid: podUid, annotations = {} } = pod.metadata;
  const { name: container } = placed.container;
  const request = { ...wanted, podUid, container, annotations, sandboxConfig, credentials };
  return images.ensureImage(request, signal);
}

/** What a container is made of. */
interface ContainerImages extends ReadyImage {
  /** Those that are mounted, by volume name. */
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
}

interface CreatedContainer {
  readonly containerId: RuntimeContainerId;
  readonly logPath: string;
  /** How the container came about, where that was not by one simple call. */
  readonly note?: string | undefined;
}

/**
 * Creates a container for the next restart count. Where an earlier call for the same count lost its answer, its
 * container is taken over, or the next count is used.
 */
async function createContainer(
  deps: StartDeps,
  request: StartRequest,
  { imageRef, user, imageVolumes }: ContainerImages,
): Promise<Result<CreatedContainer, StepFailure>> {
  const target = targetContainer(request);
  if (!target.ok) return configFailure(target.error);
  const firstCount = await nextRestartCount(deps, request);
  for (let tried = 0; ; tried++) {
    const restartCount = firstCount + tried;
    const targetContainerId = target.value;
    const choices = { restartCount, imageRef, imageUser: user, imageVolumes, targetContainerId };
    const [config] = await Promise.all([
      makeConfig(deps, request, choices),
      noteResources(deps, request),
    ]);
    if (!config.ok) return config;
    const created = await create(deps, request, config.value);
    if (created.ok) {
      const logPath = `${request.sandboxConfig.logDirectory ?? ""}/${config.value.logPath ?? ""}`;
      return ok({ note: passedOverNote(tried), ...created.value, logPath });
    }
    if (isNameReserved(created.error) && tried + 1 < maxNamesTried) continue;
    return err({ code: "CreateContainerError", message: errorText(created.error) });
  }
}

// Before it is there: a container without a record would be resized at once, or even restarted for that.
async function noteResources(
  { actuated }: StartDeps,
  { pod, placed }: StartRequest,
): Promise<void> {
  const { container } = placed;
  const resources = effectiveResources(pod, container);
  actuated.setContainer(pod.metadata.uid, container.name, resources);
  await actuated.flush();
}

async function create(
  { runtime, lifetime }: StartDeps,
  { sandboxId, sandboxConfig }: StartRequest,
  config: ContainerConfig,
): Promise<Result<Omit<CreatedContainer, "logPath">, unknown>> {
  try {
    const containerId = await runtime.createContainer(sandboxId, config, sandboxConfig, lifetime);
    return ok({ containerId });
  } catch (error) {
    lifetime.throwIfAborted();
    if (!mayHaveWorked(error)) return err(error);
    const found = await findCreatedContainer(runtime, sandboxId, config, lifetime).catch(
      () => undefined,
    );
    return found === undefined ? err(error) : ok({ containerId: found, note: tookOverNote });
  }
}

async function makeConfig(
  { configs, files, logs, lifetime }: StartDeps,
  { pod, placed, podIps }: StartRequest,
  choices: Omit<ContainerConfigRequest, "pod" | "placed" | "podIps">,
): Promise<Result<ContainerConfig, StepFailure>> {
  const { name } = placed.container;
  const request = { pod, placed, podIps, ...choices };
  const folder = containerLogsDirectory(logs.root, pod.metadata, name);
  try {
    const [config] = await beginAll(
      () => configs.containerConfig(request, lifetime),
      () => files.ensureFolder(folder, 0o755),
    );
    return config;
  } catch (error) {
    return configFailure(
      `create container log directory for container ${name} failed: ${errorText(error)}`,
    );
  }
}

// A runtime that lost its state in a reboot has no record of earlier runs, but their logs are still there.
async function nextRestartCount(deps: StartDeps, request: StartRequest): Promise<number> {
  const { name } = request.placed.container;
  const last = findObserved(request.observed, name);
  if (last !== undefined) return last.restartCount + 1;
  const folder = containerLogsDirectory(deps.logs.root, request.pod.metadata, name);
  try {
    return nextRestartCountByLogs(await deps.files.list(folder));
  } catch (error) {
    const fields = { folder, error: errorText(error) };
    deps.kill.log.warn("cannot count earlier runs by their logs", fields);
    return 0;
  }
}

/** The container whose processes an ephemeral container wants to see, by the runtime's id. */
function targetContainer({ placed, observed }: StartRequest): Result<string | undefined, string> {
  const name =
    placed.kind === "ephemeral" && "targetContainerName" in placed.container
      ? placed.container.targetContainerName
      : undefined;
  if (name === undefined || name === "") return ok(undefined);
  const target = findObserved(observed, name);
  if (target === undefined) return err(`unable to find target container ${name}`);
  return ok(rawContainerId(target.id));
}

function configFailure(message: string): Result<never, StepFailure> {
  return err({ code: "CreateContainerConfigError", message });
}

/** How errors of a runtime begin that could not mount an image. */
const mountFailed = "ImageVolumeMountFailed";

/** The images that a container mounts, by volume name: on the machine, pulled if they must be. */
async function readyImageVolumes(
  deps: StartDeps,
  request: StartRequest,
  signal: AbortSignal,
): Promise<Result<ReadonlyMap<string, ImageSpec>, ImageFailure>> {
  const { pod, placed } = request;
  const mounted = new Set((placed.container.volumeMounts ?? []).map(({ name }) => name));
  const ready = new Map<string, ImageSpec>();
  let failure: ImageFailure | undefined;
  for (const { name, image } of pod.spec.volumes ?? []) {
    if (image === undefined || !mounted.has(name)) continue;
    const { reference = "", pullPolicy = "IfNotPresent" } = image;
    const handler = deps.configs.runtimeHandler(pod);
    const annotations = pod.metadata.annotations ?? {};
    const onEvent = (event: PodEvent): void => deps.events.record(pod, event);
    const wanted = { image: reference, policy: pullPolicy, onEvent };
    const found = await ensureImage(deps, request, wanted, signal);
    if (!found.ok) {
      failure = found.error;
      continue;
    }
    ready.set(name, {
      image: found.value.imageRef,
      userSpecifiedImage: reference,
      runtimeHandler: handler.ok ? handler.value : "",
      annotations,
    });
  }
  return failure === undefined ? ok(ready) : err(failure);
}

/** Counts them once the container was started, or was not. */
function countImageVolumes(
  metrics: Metrics,
  { volumeMounts = [] }: AnyContainer,
  volumes: ReadonlyMap<string, ImageSpec>,
  failure: StepFailure | undefined,
): void {
  if (volumes.size === 0) return;
  metrics.increment("kubelet_image_volume_requested_total", {}, volumes.size);
  const isMountFailure =
    failure?.code === "CreateContainerError" && failure.message.startsWith(mountFailed);
  const outcome = isMountFailure
    ? "kubelet_image_volume_mounted_errors_total"
    : "kubelet_image_volume_mounted_succeed_total";
  metrics.increment(outcome, {}, volumeMounts.filter(({ name }) => volumes.has(name)).length);
}

/** What a step says that went on with the work of an earlier call. */
export const tookOverNote = "took over what an earlier call made whose answer had been lost";

/** What a step says that found the names of so many attempts taken. */
export function passedOverNote(attempts: number): string | undefined {
  if (attempts === 0) return undefined;
  return `earlier calls still hold the names of ${attempts} attempt(s) before this one`;
}

/** How many names in a row may be taken before a create gives up. */
export const maxNamesTried = 5;

/**
 * Whether an earlier call, whose answer was lost, still holds the name: until the runtime has finished or
 * cleaned up that call's work, it refuses every other create of the same name and attempt.
 */
export function isNameReserved(error: unknown): boolean {
  return error instanceof RuntimeError && error.message.includes("is reserved");
}

/** Whether the failed call may have done its work, or still be at it. */
export function mayHaveWorked(error: unknown): boolean {
  if (isNameReserved(error)) return true;
  return error instanceof RuntimeError && error.code === "DeadlineExceeded";
}

/** The ready sandbox that an earlier call made for this attempt. */
export async function findReadySandbox(
  runtime: Pick<ContainerRuntime, "listPodSandboxes">,
  pod: Pod,
  attempt: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const state = { state: PodSandboxState.SANDBOX_READY };
  const labelSelector = { [podUidLabel]: pod.metadata.uid };
  const sandboxes = await runtime.listPodSandboxes({ labelSelector, state }, signal);
  return sandboxes.find(({ metadata }) => (metadata?.attempt ?? 0) === attempt)?.id;
}

/** The container that an earlier call made in the sandbox from the same spec, and that was never started. */
async function findCreatedContainer(
  runtime: Pick<ContainerRuntime, "listContainers">,
  podSandboxId: string,
  config: ContainerConfig,
  signal: AbortSignal,
): Promise<RuntimeContainerId | undefined> {
  const state = { state: ContainerState.CONTAINER_CREATED };
  const name = config.metadata?.name ?? "";
  const labelSelector = { [containerNameLabel]: name };
  const containers = await runtime.listContainers({ podSandboxId, labelSelector, state }, signal);
  const hash = config.annotations?.[containerHashAnnotation];
  const found = containers.find(
    ({ metadata, annotations }) =>
      (metadata?.attempt ?? 0) === (config.metadata?.attempt ?? 0) &&
      annotations?.[containerHashAnnotation] === hash,
  );
  return found?.id === undefined ? undefined : runtimeContainerId(found.id);
}
