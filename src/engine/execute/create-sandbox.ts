import { err, ok, type Result } from "../../lib/result.ts";
import type { PodSandboxConfig } from "../../model/generated/cri.ts";
import { type Pod, podDisplayName } from "../../model/pod.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { StartDeps } from "./start-container.ts";
import type { StepFailure } from "./step-report.ts";

export interface CreatedSandbox {
  readonly sandboxId: string;
  readonly config: PodSandboxConfig;
  readonly ips: readonly string[];
}

/** Creates the pod's sandbox with its network and reads its addresses. */
export async function createSandbox(
  deps: StartDeps,
  pod: Pod,
  attempt: number,
): Promise<Result<CreatedSandbox, StepFailure>> {
  const config = await deps.configs.sandboxConfig(pod, attempt);
  if (!config.ok) {
    return refuse(
      deps,
      pod,
      `Failed to generate sandbox config for pod "${podDisplayName(pod)}": ${config.error}`,
    );
  }
  const handler = deps.configs.runtimeHandler(pod);
  if (!handler.ok) {
    return refuse(
      deps,
      pod,
      `Failed to create sandbox for pod "${podDisplayName(pod)}": ${handler.error}`,
    );
  }
  await deps.files.ensureFolder(config.value.logDirectory ?? "", 0o755);
  let sandboxId: string;
  try {
    sandboxId = await deps.runtime.runPodSandbox(config.value, handler.value, deps.lifetime);
  } catch (error) {
    deps.lifetime.throwIfAborted();
    warn(
      deps,
      pod,
      "FailedCreatePodSandBox",
      `Failed to create pod sandbox: ${runtimeErrorText(error)}`,
    );
    return err({
      code: "CreatePodSandboxError",
      message: `Failed to create sandbox for pod "${podDisplayName(pod)}": ${runtimeErrorText(error)}`,
    });
  }
  try {
    const { status } = await deps.runtime.podSandboxStatus(sandboxId, deps.lifetime);
    const network = status?.network;
    const ips = [network?.ip ?? "", ...(network?.additionalIps ?? []).map(({ ip }) => ip ?? "")];
    return ok({ sandboxId, config: config.value, ips: ips.filter((ip) => ip !== "") });
  } catch (error) {
    deps.lifetime.throwIfAborted();
    warn(
      deps,
      pod,
      "FailedPodSandBoxStatus",
      `Unable to get pod sandbox status: ${runtimeErrorText(error)}`,
    );
    return err({ code: "CreatePodSandboxError", message: runtimeErrorText(error) });
  }
}

function refuse(deps: StartDeps, pod: Pod, message: string): Result<never, StepFailure> {
  warn(deps, pod, "FailedCreatePodSandBox", `Failed to create pod sandbox: ${message}`);
  return err({ code: "CreatePodSandboxError", message });
}

function warn(deps: StartDeps, pod: Pod, reason: string, message: string): void {
  deps.events.record(pod, { type: "Warning", reason, message });
}
