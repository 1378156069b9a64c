import { ContainerState, type ContainerStatus } from "../../model/generated/cri.ts";
import { containerTerminationMessagePolicyAnnotation } from "../../model/labels.ts";
import type { ContainerExit } from "../../model/observed.ts";

/** Killed, perhaps by the OOM killer: only the runtime knows why. */
const killedCode = 137;

/**
 * The status of a container that an event of the runtime said to have ended, where its status still says that it runs:
 * that lags behind. Unchanged where the runtime will know more than its event said.
 */
export function withExit(
  status: ContainerStatus,
  exit: ContainerExit | undefined,
): ContainerStatus {
  if (exit === undefined || status.state !== ContainerState.CONTAINER_RUNNING) return status;
  const { exitCode, finishedAt } = exit;
  const policy = status.annotations?.[containerTerminationMessagePolicyAnnotation];
  // The end of its log may not be written yet.
  const needsLog = exitCode !== 0 && policy === "FallbackToLogsOnError";
  if (exitCode === killedCode || needsLog) return status;
  const reason = exitCode === 0 ? "Completed" : "Error";
  return { ...status, state: ContainerState.CONTAINER_EXITED, exitCode, finishedAt, reason };
}
