import { ContainerState } from "../../model/generated/cri.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { isNotFound, runtimeErrorText } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import { rawContainerId } from "./container-id.ts";
import type { StepOutcome } from "./step-report.ts";

type Runtime = Pick<ContainerRuntime, "containerStatus" | "removeContainer">;

/**
 * Before another instance of a container is made: removes those that may still come to life. Where a create or start
 * lost its answer, or the agent died over it, the runtime may carry it out at any time. Answers an outcome where no
 * other instance may be made now.
 */
export async function clearTheWay(
  runtime: Runtime,
  observed: ObservedPod,
  name: string,
  signal: AbortSignal,
): Promise<StepOutcome | undefined> {
  const [newest, ...older] = observed.containers.filter((container) => container.name === name);
  if (newest === undefined) return undefined;
  for (const { id, state } of [newest, ...older]) {
    if (state === "running" || state === "exited") continue;
    try {
      if (!(await removeUnlessRunning(runtime, rawContainerId(id), signal))) return runs(id);
    } catch (error) {
      signal.throwIfAborted();
      const message = `cannot remove an earlier instance: ${runtimeErrorText(error)}`;
      return { failure: { code: "CreateContainerError", message } };
    }
  }
  // A create that was believed lost may come after the one that took its place.
  const running = older.find(({ state }) => state === "running");
  return running && runs(running.id);
}

function runs(id: string): StepOutcome {
  return { note: `an instance that an earlier call started runs: ${rawContainerId(id)}` };
}

/** False when it runs after all. */
async function removeUnlessRunning(
  runtime: Runtime,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { status } = await runtime.containerStatus(id, signal);
    if (status?.state === ContainerState.CONTAINER_RUNNING) return false;
    if (status?.state !== ContainerState.CONTAINER_EXITED) {
      await runtime.removeContainer(id, signal);
    }
    return true;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}
