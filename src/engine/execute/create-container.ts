import { effectiveResources } from "../../core/allocation/actuated-resources.ts";
import { containerLogsDirectory, nextRestartCountByLogs } from "../../core/paths/log-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { ContainerConfig, ImageSpec, PodSandboxConfig } from "../../model/generated/cri.ts";
import { type RuntimeContainerId, rawContainerId } from "../../model/ids.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import type { PlacedContainer, Pod } from "../../model/pod.ts";
import type { ReadyImage } from "../images/image-manager.ts";
import type { ContainerConfigRequest } from "./pod-configs.ts";
import {
  findCreatedContainer,
  isNameReserved,
  maxNamesTried,
  mayHaveWorked,
  passedOverNote,
  tookOverNote,
} from "./reserved-name.ts";
import type { StartDeps } from "./start-deps.ts";
import type { StepFailure } from "./step-report.ts";

export interface CreateRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly placed: PlacedContainer;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly podIps: readonly string[];
}

/** What a container is made of. */
interface ContainerImages extends ReadyImage {
  /** Those that are mounted, by volume name. */
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
}

export interface CreatedContainer {
  readonly containerId: RuntimeContainerId;
  readonly logPath: string;
  /** How the container came about, where that was not by one simple call. */
  readonly note?: string | undefined;
}

/**
 * Creates a container for the next restart count. Where an earlier call for the same count lost its answer, its
 * container is taken over, or the next count is used.
 */
export async function createContainer(
  deps: StartDeps,
  request: CreateRequest,
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
  { pod, placed }: CreateRequest,
): Promise<void> {
  const { container } = placed;
  const resources = effectiveResources(pod, container);
  actuated.setContainer(pod.metadata.uid, container.name, resources);
  await actuated.flush();
}

async function create(
  { runtime, lifetime }: StartDeps,
  { sandboxId, sandboxConfig }: CreateRequest,
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
  { configs, files, podLogsRoot, lifetime }: StartDeps,
  { pod, placed, podIps }: CreateRequest,
  choices: Pick<
    ContainerConfigRequest,
    "restartCount" | "imageRef" | "imageUser" | "imageVolumes" | "targetContainerId"
  >,
): Promise<Result<ContainerConfig, StepFailure>> {
  const { name } = placed.container;
  const request = { pod, placed, podIps, ...choices };
  const folder = containerLogsDirectory(podLogsRoot, pod.metadata, name);
  try {
    const [config] = await Promise.all([
      configs.containerConfig(request, lifetime),
      files.ensureFolder(folder, 0o755),
    ]);
    return config;
  } catch (error) {
    return configFailure(
      `create container log directory for container ${name} failed: ${errorText(error)}`,
    );
  }
}

// A runtime that lost its state in a reboot has no record of earlier runs, but their logs are still there.
async function nextRestartCount(deps: StartDeps, request: CreateRequest): Promise<number> {
  const { name } = request.placed.container;
  const last = findObserved(request.observed, name);
  if (last !== undefined) return last.restartCount + 1;
  const folder = containerLogsDirectory(deps.podLogsRoot, request.pod.metadata, name);
  try {
    return nextRestartCountByLogs(await deps.files.list(folder));
  } catch (error) {
    deps.kill.log.warn("cannot count earlier runs by their logs", {
      folder,
      error: errorText(error),
    });
    return 0;
  }
}

/** The container whose processes an ephemeral container wants to see, by the runtime's id. */
function targetContainer({ placed, observed }: CreateRequest): Result<string | undefined, string> {
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
