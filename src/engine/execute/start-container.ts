import type { ImageFailure } from "../../core/image/image-pull.ts";
import { legacyLogSymlink } from "../../core/paths/log-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import type { ImageSpec } from "../../model/generated/cri.ts";
import type { RuntimeContainerId } from "../../model/ids.ts";
import { podDisplayName } from "../../model/pod.ts";
import type { ImageManager } from "../images/image-manager.ts";
import type { PodCredentials } from "../images/pull-credentials.ts";
import { type CreatedContainer, type CreateRequest, createContainer } from "./create-container.ts";
import { countImageVolumes, readyImageVolumes } from "./image-volumes.ts";
import { killContainer } from "./kill-container.ts";
import { runHook } from "./run-hook.ts";
import type { StartDeps } from "./start-deps.ts";
import type { StepFailure, StepOutcome } from "./step-report.ts";

export interface StartRequest extends CreateRequest {
  readonly pullCredentials: PodCredentials;
}

/** Images, create, start, log link, postStart hook. Returns what failed, in the words of a waiting state. */
export async function startContainer(
  deps: StartDeps,
  request: StartRequest,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const volumes = await readyImageVolumes(deps, request, signal);
  if (!volumes.ok) return imageFailure(deps, request, volumes.error);
  const outcome = await startWithVolumes(deps, request, volumes.value, signal);
  countImageVolumes(deps.kill.metrics, request.placed.container, volumes.value, outcome.failure);
  return outcome;
}

async function startWithVolumes(
  deps: StartDeps,
  request: StartRequest,
  imageVolumes: ReadonlyMap<string, ImageSpec>,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const image = await ensureImage(deps, request, signal);
  if (!image.ok) return imageFailure(deps, request, image.error);
  signal.throwIfAborted();
  const created = await createContainer(deps, request, { ...image.value, imageVolumes });
  if (!created.ok) {
    warn(deps, request, "Failed", `Error: ${created.error.message}`);
    return { failure: created.error };
  }
  const { containerId, note } = created.value;
  announce(deps, request, "Created", "Container created");
  // A pod that is being ended is spared the start; what was only created is collected later.
  signal.throwIfAborted();
  try {
    await deps.runtime.startContainer(containerId, deps.lifetime);
  } catch (error) {
    deps.lifetime.throwIfAborted();
    const message = errorText(error);
    // Equal events are counted, not repeated: no id may make each of them different.
    const text = message.replaceAll(containerId, request.placed.container.name);
    warn(deps, request, "Failed", `Error: ${text}`);
    return { failure: { code: "RunContainerError", message } };
  }
  announce(deps, request, "Started", "Container started");
  if (deps.linkLogs) await linkLog(deps, request, created.value);
  return { failure: await runPostStart(deps, request, containerId, signal), note };
}

function imageFailure(
  deps: StartDeps,
  request: StartRequest,
  { reason, message, retryAtMs }: ImageFailure,
): StepOutcome {
  warn(deps, request, "Failed", `Error: ${reason}`);
  return { failure: { code: reason, message, retryAtMs } };
}

function ensureImage(
  deps: StartDeps,
  { pod, placed, sandboxConfig, pullCredentials }: StartRequest,
  signal: AbortSignal,
): ReturnType<ImageManager["ensureImage"]> {
  const { container, kind } = placed;
  return deps.images.ensureImage(
    {
      podUid: pod.metadata.uid,
      container: container.name,
      image: container.image ?? "",
      policy: container.imagePullPolicy ?? "IfNotPresent",
      annotations: pod.metadata.annotations ?? {},
      runtimeHandler: "",
      sandboxConfig,
      credentials: pullCredentials,
      onEvent: (event) =>
        deps.events.record(pod, { ...event, container: { kind, name: container.name } }),
    },
    signal,
  );
}

// Log collectors of clusters look for logs by this link; a pod runs as well without it.
async function linkLog(
  { files, kill }: StartDeps,
  { pod, placed }: StartRequest,
  { containerId, logPath }: CreatedContainer,
): Promise<void> {
  const link = legacyLogSymlink(pod.metadata, placed.container.name, containerId);
  const slash = logPath.lastIndexOf("/");
  try {
    // A runtime may keep logs elsewhere; a dangling link is of no use.
    const names = await files.list(logPath.slice(0, slash));
    if (names.includes(logPath.slice(slash + 1))) await files.symlink(logPath, link);
  } catch (error) {
    kill.log.warn("cannot link the container log", { link, error: errorText(error) });
  }
}

async function runPostStart(
  deps: StartDeps,
  request: StartRequest,
  containerId: RuntimeContainerId,
  signal: AbortSignal,
): Promise<StepFailure | undefined> {
  const { pod, placed } = request;
  const { container, kind } = placed;
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) return undefined;
  const target = { pod, container, containerId, podIp: request.podIps[0] ?? "" };
  try {
    await runHook(deps.kill, target, handler, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    // The hook's output may hold secrets: the event does not repeat it.
    warn(deps, request, "FailedPostStartHook", "PostStartHook failed");
    const kill = {
      ...target,
      kind,
      message: "FailedPostStartHook",
      reason: "FailedPostStartHook",
    } as const;
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

function announce(deps: StartDeps, request: StartRequest, reason: string, message: string): void {
  const container = { kind: request.placed.kind, name: request.placed.container.name };
  deps.events.record(request.pod, { type: "Normal", reason, message, container });
}

function warn(deps: StartDeps, request: StartRequest, reason: string, message: string): void {
  const container = { kind: request.placed.kind, name: request.placed.container.name };
  deps.events.record(request.pod, { type: "Warning", reason, message, container });
}
