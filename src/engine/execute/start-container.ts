import {
  containerLogsDirectory,
  legacyLogSymlink,
  nextRestartCountByLogs,
} from "../../core/paths/log-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import type { AuthConfig, PodSandboxConfig } from "../../model/generated/cri.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import type { PlacedContainer, Pod } from "../../model/pod.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { ImageManager } from "../image-manager.ts";
import { rawContainerId } from "./container-id.ts";
import { type KillDeps, killContainer } from "./kill-container.ts";
import type { PodConfigs } from "./pod-configs.ts";
import { runHook } from "./run-hook.ts";
import type { StepFailure } from "./step-report.ts";

export interface StartDeps extends KillDeps {
  readonly runtime: ContainerRuntime;
  readonly images: ImageManager;
  readonly configs: PodConfigs;
  readonly files: HostFiles;
  readonly podLogsRoot: string;
  /** Ends with the agent: a call to the runtime is not torn off because a pod's sync is. */
  readonly lifetime: AbortSignal;
}

export interface StartRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly placed: PlacedContainer;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly podIps: readonly string[];
  readonly pullCredentials: readonly AuthConfig[];
}

/** Image, create, start, log link, postStart hook. Answers what failed, in the words of a waiting state. */
export async function startContainer(
  deps: StartDeps,
  request: StartRequest,
  signal: AbortSignal,
): Promise<StepFailure | undefined> {
  const image = await ensureImage(deps, request, signal);
  if (!image.ok) {
    warn(deps, request, "Failed", `Error: ${image.error.reason}`);
    return { code: image.error.reason, message: image.error.message };
  }
  signal.throwIfAborted();
  const created = await createContainer(deps, request, image.value.imageRef);
  if (!created.ok) return created.failure;
  const { containerId, logPath } = created;
  event(deps, request, "Created", "Container created");
  try {
    await deps.runtime.startContainer(containerId, deps.lifetime);
  } catch (error) {
    const message = errorText(error);
    warn(
      deps,
      request,
      "Failed",
      `Error: ${message.replaceAll(containerId, request.placed.container.name)}`,
    );
    return { code: "RunContainerError", message };
  }
  event(deps, request, "Started", "Container started");
  await linkLog(deps, request, containerId, logPath);
  return runPostStart(deps, request, containerId, signal);
}

async function ensureImage(
  deps: StartDeps,
  request: StartRequest,
  signal: AbortSignal,
): ReturnType<ImageManager["ensureImage"]> {
  const { pod, placed } = request;
  const { container, kind } = placed;
  return deps.images.ensureImage(
    {
      podUid: pod.metadata.uid,
      image: container.image ?? "",
      policy: container.imagePullPolicy ?? "IfNotPresent",
      annotations: pod.metadata.annotations ?? {},
      runtimeHandler: request.runtimeHandler,
      sandboxConfig: request.sandboxConfig,
      credentials: request.pullCredentials,
      onEvent: (event) =>
        deps.events.record(pod, { ...event, container: { kind, name: container.name } }),
    },
    signal,
  );
}

type Created =
  | { readonly ok: true; readonly containerId: string; readonly logPath: string }
  | { readonly ok: false; readonly failure: StepFailure };

async function createContainer(
  deps: StartDeps,
  request: StartRequest,
  imageRef: string,
): Promise<Created> {
  const { pod, placed } = request;
  const target = targetContainer(request);
  if (target instanceof Error) {
    warn(deps, request, "Failed", `Error: ${target.message}`);
    return { ok: false, failure: { code: "CreateContainerConfigError", message: target.message } };
  }
  const restartCount = await nextRestartCount(deps, request);
  const config = await deps.configs.containerConfig(
    {
      pod,
      placed,
      restartCount,
      podIps: request.podIps,
      imageRef,
      targetContainerId: target,
    },
    deps.lifetime,
  );
  if (!config.ok) {
    warn(deps, request, "Failed", `Error: ${config.error.message}`);
    return { ok: false, failure: config.error };
  }
  try {
    const containerId = await deps.runtime.createContainer(
      request.sandboxId,
      config.value,
      request.sandboxConfig,
      deps.lifetime,
    );
    const logPath = `${request.sandboxConfig.logDirectory ?? ""}/${config.value.logPath ?? ""}`;
    return { ok: true, containerId, logPath };
  } catch (error) {
    warn(deps, request, "Failed", `Error: ${errorText(error)}`);
    return { ok: false, failure: { code: "CreateContainerError", message: errorText(error) } };
  }
}

// A runtime that lost its state in a reboot has no record of earlier runs, but their logs are still there.
async function nextRestartCount(deps: StartDeps, request: StartRequest): Promise<number> {
  const { name } = request.placed.container;
  const last = findObserved(request.observed, name);
  if (last !== undefined) return last.restartCount + 1;
  const folder = containerLogsDirectory(deps.podLogsRoot, request.pod.metadata, name);
  return nextRestartCountByLogs(await deps.files.list(folder));
}

function targetContainer({ placed, observed }: StartRequest): string | undefined | Error {
  if (placed.kind !== "ephemeral" || !("targetContainerName" in placed.container)) return undefined;
  const name = placed.container.targetContainerName;
  if (name === undefined || name === "") return undefined;
  const target = findObserved(observed, name);
  if (target === undefined) return new Error(`unable to find target container ${name}`);
  return rawContainerId(target.id);
}

// Log collectors of clusters look for logs by this link; a pod runs as well without it.
async function linkLog(
  deps: StartDeps,
  request: StartRequest,
  containerId: string,
  logPath: string,
): Promise<void> {
  const link = legacyLogSymlink(request.pod.metadata, request.placed.container.name, containerId);
  try {
    await deps.files.symlink(logPath, link);
  } catch (error) {
    deps.log.warn("cannot link the container log", { link, error: errorText(error) });
  }
}

async function runPostStart(
  deps: StartDeps,
  request: StartRequest,
  containerId: string,
  signal: AbortSignal,
): Promise<StepFailure | undefined> {
  const { pod, placed } = request;
  const { container, kind } = placed;
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) return undefined;
  const target = { pod, container, containerId, podIp: request.podIps[0] ?? "" };
  try {
    await runHook(deps, target, handler, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    // The hook's output may hold secrets: the event does not repeat it.
    warn(deps, request, "FailedPostStartHook", "PostStartHook failed");
    await killContainer(
      deps,
      { ...target, kind, message: "FailedPostStartHook", reason: "FailedPostStartHook" },
      signal,
    );
    return { code: "PostStartHookError", message: errorText(error) };
  }
}

function event(deps: StartDeps, request: StartRequest, reason: string, message: string): void {
  const container = { kind: request.placed.kind, name: request.placed.container.name };
  deps.events.record(request.pod, { type: "Normal", reason, message, container });
}

function warn(deps: StartDeps, request: StartRequest, reason: string, message: string): void {
  const container = { kind: request.placed.kind, name: request.placed.container.name };
  deps.events.record(request.pod, { type: "Warning", reason, message, container });
}
