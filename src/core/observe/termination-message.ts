import { ContainerState, type ContainerStatus } from "../../model/generated/cri.ts";
import {
  containerTerminationMessagePathAnnotation,
  containerTerminationMessagePolicyAnnotation,
} from "../../model/labels.ts";

/** Where an exited container's last words are: in the file, or in the log if the file is missing or empty. */
export interface TerminationMessageSource {
  readonly filePath?: string | undefined;
  readonly logPath?: string | undefined;
}

/** Where to look for the last words of a container; nowhere while it has not exited. */
export function terminationMessageSource(status: ContainerStatus): TerminationMessageSource {
  if (status.state !== ContainerState.CONTAINER_EXITED) return {};
  const annotations = status.annotations ?? {};
  const path = annotations[containerTerminationMessagePathAnnotation] ?? "";
  const inContainer = path.startsWith("/") ? path : `/${path}`;
  const mount = status.mounts?.find(({ containerPath }) => containerPath === inContainer);
  // A container that never ran has no log.
  const usesLog =
    annotations[containerTerminationMessagePolicyAnnotation] === "FallbackToLogsOnError" &&
    (status.exitCode ?? 0) !== 0 &&
    status.reason !== "ContainerCannotRun";
  return {
    filePath: path === "" ? undefined : mount?.hostPath,
    logPath: usesLog ? status.logPath : undefined,
  };
}
