import { errorText } from "../../lib/error-text.ts";
import type { LifecycleHandler } from "../../model/generated/kubernetes.ts";
import { type AnyContainer, type Pod, podDisplayName } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HookHttp } from "../../ports/hook-http.ts";

export interface HookDeps {
  readonly runtime: Pick<ContainerRuntime, "execSync">;
  readonly http: HookHttp;
  readonly clock: Clock;
}

export interface HookTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  /** The runtime's id, without prefix. */
  readonly containerId: string;
  readonly podIp: string;
}

/** Runs a postStart or preStop handler to its end; rejects, with a text for people, when it fails. */
export async function runHook(
  deps: HookDeps,
  target: HookTarget,
  handler: LifecycleHandler,
  signal: AbortSignal,
): Promise<void> {
  const place = `for Container "${target.container.name}" in Pod "${podDisplayName(target.pod)}" failed`;
  if (handler.exec !== undefined) {
    const command = handler.exec.command ?? [];
    const result = await deps.runtime
      .execSync(target.containerId, command, 0, signal)
      .catch((error: unknown) => {
        throw new Error(
          `Exec lifecycle hook ([${command.join(" ")}]) ${place} - error: ${errorText(error)}`,
        );
      });
    if ((result.exitCode ?? 0) !== 0) {
      throw new Error(
        `Exec lifecycle hook ([${command.join(" ")}]) ${place} - error: command '${command.join(" ")}' exited with ${result.exitCode}`,
      );
    }
    return;
  }
  if (handler.httpGet !== undefined) {
    const action = handler.httpGet;
    await deps.http.get(action, target.container, target.podIp, signal).catch((error: unknown) => {
      throw new Error(
        `HTTP lifecycle hook (${action.path ?? ""}) ${place} - error: ${errorText(error)}`,
      );
    });
    return;
  }
  if (handler.sleep !== undefined) {
    await deps.clock.sleep(handler.sleep.seconds * 1000, signal);
    return;
  }
  throw new Error("the lifecycle hook names no exec, httpGet or sleep action");
}
