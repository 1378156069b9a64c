import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import type { ExecSyncResponse } from "../../model/generated/cri.ts";
import type { HTTPGetAction, LifecycleHandler } from "../../model/generated/kubernetes.ts";
import type { RuntimeContainerId } from "../../model/ids.ts";
import { type AnyContainer, type Pod, podDisplayName } from "../../model/pod.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HookHttp } from "../../ports/hook-http.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { PodEvents } from "../../ports/pod-events.ts";

/** More of what a hook printed does not help. */
const maxOutputBytes = 10 * 1024;

export interface HookDeps {
  readonly runtime: Pick<ContainerRuntime, "execSync">;
  readonly hookHttp: HookHttp;
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly metrics: Metrics;
}

export interface HookTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  /** The runtime's id, without prefix. */
  readonly containerId: RuntimeContainerId;
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
    const failure = await runCommand(deps, target.containerId, command, signal);
    if (failure === undefined) return;
    throw new Error(`Exec lifecycle hook ([${command.join(" ")}]) ${place} - error: ${failure}`);
  }
  if (handler.httpGet !== undefined) {
    await runRequest(deps, target, handler.httpGet, signal).catch((error: unknown) => {
      const title = `HTTP lifecycle hook (${handler.httpGet?.path ?? ""}) ${place}`;
      throw new Error(`${title} - error: ${errorText(error)}`);
    });
    return;
  }
  if (handler.sleep !== undefined) {
    const { seconds } = handler.sleep;
    await deps.clock.sleep(seconds * 1000, signal).catch(() => {
      deps.metrics.increment("kubelet_sleep_action_terminated_early_total");
      const title = `Sleep lifecycle hook (${seconds}) ${place}`;
      throw new Error(`${title} - error: container terminated before sleep hook finished`);
    });
    return;
  }
  throw new Error("Cannot run handler: it names no exec, httpGet or sleep action");
}

async function runRequest(
  { hookHttp, events, metrics }: HookDeps,
  { pod, container, podIp }: HookTarget,
  action: HTTPGetAction,
  signal: AbortSignal,
): Promise<void> {
  if ((action.host ?? "") === "" && podIp === "") {
    throw new Error("failed to find networking container: no address is known");
  }
  const fallback = await hookHttp.get(
    action,
    { podUid: pod.metadata.uid, container, podIp },
    signal,
  );
  if (fallback === undefined) return;
  metrics.increment("kubelet_lifecycle_handler_http_fallbacks_total");
  events.record(pod, {
    type: "Warning",
    reason: "LifecycleHTTPFallback",
    message: `request to HTTPS lifecycle hook ${fallback.plainHost} got HTTP response, retry with HTTP succeeded`,
  });
}

/** What went wrong, with the command's output; undefined when it ended well. */
async function runCommand(
  { runtime }: HookDeps,
  containerId: RuntimeContainerId,
  command: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  let result: ExecSyncResponse;
  try {
    result = await runtime.execSync(containerId, command, 0, signal);
  } catch (error) {
    return `${runtimeErrorText(error)}, message: ""`;
  }
  if ((result.exitCode ?? 0) === 0) return undefined;
  const [stdout, stderr] = [result.stdout, result.stderr].map((bytes) =>
    bytes === undefined ? "" : decodeUtf8(bytes.subarray(0, maxOutputBytes)),
  );
  const line = command.join(" ");
  return `command '${line}' exited with ${result.exitCode}: ${stderr}, message: ${quoteText(`${stdout}${stderr}`)}`;
}
