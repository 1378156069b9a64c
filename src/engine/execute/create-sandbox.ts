import { sandboxIps } from "../../core/observe/observe-pod.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodSandboxConfig } from "../../model/generated/cri.ts";
import { type Pod, podDisplayName } from "../../model/pod.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import {
  findReadySandbox,
  isNameReserved,
  maxNamesTried,
  mayHaveWorked,
  passedOverNote,
  type StartDeps,
  tookOverNote,
} from "./start-container.ts";
import type { StepFailure } from "./step-report.ts";

export interface CreatedSandbox {
  readonly sandboxId: string;
  readonly config: PodSandboxConfig;
  /** How the sandbox came about, where that was not by one simple call. */
  readonly note?: string | undefined;
}

/**
 * Creates the pod's sandbox with its network. Where an earlier call for the same attempt lost its answer, its
 * sandbox is taken over, or the next attempt is made.
 */
export async function createSandbox(
  deps: StartDeps,
  pod: Pod,
  attempt: number,
  signal: AbortSignal,
): Promise<Result<CreatedSandbox, StepFailure>> {
  for (let tried = 0; ; tried++) {
    const config = await prepare(deps, pod, attempt + tried);
    if (!config.ok) return refuse(deps, pod, config.error);
    const handler = deps.configs.runtimeHandler(pod);
    if (!handler.ok) return refuse(deps, pod, failedToCreate(pod, handler.error));
    try {
      const { runtime, lifetime } = deps;
      const sandboxId = await runtime.runPodSandbox(config.value, handler.value, lifetime);
      return ok({ sandboxId, config: config.value, note: passedOverNote(tried) });
    } catch (error) {
      // A pod that is being ended needs no sandbox, and no complaint about a missing one.
      signal.throwIfAborted();
      deps.lifetime.throwIfAborted();
      const { runtime, lifetime } = deps;
      const found = mayHaveWorked(error)
        ? await findReadySandbox(runtime, pod, attempt + tried, lifetime).catch(() => undefined)
        : undefined;
      if (found !== undefined) {
        return ok({ sandboxId: found, config: config.value, note: tookOverNote });
      }
      if (isNameReserved(error) && tried + 1 < maxNamesTried) continue;
      return refuse(deps, pod, failedToCreate(pod, runtimeErrorText(error)));
    }
  }
}

/** The addresses of a new sandbox; an error when the runtime cannot return its status. */
export async function readSandboxIps(
  { runtime, events, lifetime }: StartDeps,
  pod: Pod,
  sandboxId: string,
  signal: AbortSignal,
): Promise<Result<readonly string[], string>> {
  try {
    const { status } = await runtime.podSandboxStatus(sandboxId, lifetime);
    return status === undefined ? err("pod sandbox status is nil") : ok(sandboxIps(status));
  } catch (error) {
    signal.throwIfAborted();
    lifetime.throwIfAborted();
    const text = runtimeErrorText(error);
    const message = `Unable to get pod sandbox status: ${text}`;
    events.record(pod, { type: "Warning", reason: "FailedPodSandBoxStatus", message });
    return err(text);
  }
}

/** What went wrong: in short, as in an event, and in full. */
interface Trouble {
  readonly cause: string;
  readonly message: string;
}

async function prepare(
  { configs, files }: StartDeps,
  pod: Pod,
  attempt: number,
): Promise<Result<PodSandboxConfig, Trouble>> {
  const config = await configs.sandboxConfig(pod, attempt);
  const name = podDisplayName(pod);
  if (!config.ok) {
    const message = `Failed to generate sandbox config for pod "${name}": ${config.error}`;
    return err({ cause: config.error, message });
  }
  try {
    await files.ensureFolder(config.value.logDirectory ?? "", 0o755);
    return config;
  } catch (error) {
    const cause = errorText(error);
    return err({ cause, message: `Failed to create log directory for pod "${name}": ${cause}` });
  }
}

function failedToCreate(pod: Pod, cause: string): Trouble {
  return { cause, message: `Failed to create sandbox for pod "${podDisplayName(pod)}": ${cause}` };
}

function refuse(
  { events }: StartDeps,
  pod: Pod,
  { cause, message }: Trouble,
): Result<never, StepFailure> {
  const event = `Failed to create pod sandbox: ${cause}`;
  events.record(pod, { type: "Warning", reason: "FailedCreatePodSandBox", message: event });
  return err({ code: "CreatePodSandboxError", message });
}
