import {
  type ContainerConfig,
  ContainerState,
  PodSandboxState,
} from "../../model/generated/cri.ts";
import { type RuntimeContainerId, runtimeContainerId } from "../../model/ids.ts";
import { containerHashAnnotation, containerNameLabel, podUidLabel } from "../../model/labels.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";

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
export async function findCreatedContainer(
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
