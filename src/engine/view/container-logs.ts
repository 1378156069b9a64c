import { containerLogPath, podLogsDirectory } from "../../core/paths/log-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import { ContainerState } from "../../model/generated/cri.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { rawContainerId } from "../../model/ids.ts";
import { findObserved, type ObservedContainer } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { unlessGone } from "../../model/runtime-error.ts";
import type { ContainerLog } from "../../ports/agent-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { AgentSettings } from "../agent/agent-settings.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodChanges } from "./pod-changes.ts";

/** How long it takes at most until the runtime has written what a container that has ended printed last. */
const drainRetriesMs = [10, 15, 25, 50, 100, 200, 400, 1_000];

export interface ContainerLogsDeps {
  readonly table: PodTable;
  readonly changes: Pick<PodChanges, "show">;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<ContainerRuntime, "containerStatus">;
  readonly settings: Pick<AgentSettings, "runtimeSettings">;
}

/** Where the logs of containers lie. The log of one that a status has as ended is there, and complete. */
export class ContainerLogs {
  readonly #deps: ContainerLogsDeps;

  constructor(deps: ContainerLogsDeps) {
    this.#deps = deps;
  }

  async find(
    pod: Pod,
    container: string,
    previous: boolean,
    signal: AbortSignal,
  ): Promise<ContainerLog | undefined> {
    const { table, changes, settings } = this.#deps;
    // The API server may have it before it is on disk.
    const newest = table.get(pod.metadata.uid)?.checkpoint?.newest;
    const id = loggedContainerId(newest ?? changes.show(pod).status ?? {}, container, previous);
    const logged = this.#findById(pod, id) ?? (previous ? undefined : this.#find(pod, container));
    if (logged === undefined) return undefined;
    const folder = podLogsDirectory(settings.runtimeSettings.podLogsRoot, pod.metadata);
    const finished = () => this.#isFinished(pod, logged, signal);
    await finished();
    return { path: `${folder}/${containerLogPath(container, logged.restartCount)}`, finished };
  }

  #find({ metadata: { uid } }: Pod, container: string): ObservedContainer | undefined {
    const observed = this.#deps.table.get(uid)?.observed?.state;
    return observed && findObserved(observed, container);
  }

  #findById({ metadata: { uid } }: Pod, id: string | undefined): ObservedContainer | undefined {
    const { containers = [] } = this.#deps.table.get(uid)?.observed?.state ?? {};
    return containers.find((container) => container.id === id);
  }

  async #isFinished(pod: Pod, logged: ObservedContainer, signal: AbortSignal): Promise<boolean> {
    const now = this.#findById(pod, logged.id);
    if (now !== undefined && now.state !== "exited") return false;
    await this.#untilDrained(pod, logged, signal);
    return true;
  }

  /** An event announces the end of a container before the runtime has read all that its processes had printed. */
  async #untilDrained(
    { metadata: { uid, name } }: Pod,
    container: ObservedContainer,
    signal: AbortSignal,
  ): Promise<void> {
    const { table, runtime, clock, log } = this.#deps;
    const id = rawContainerId(container.id);
    if (table.get(uid)?.observed?.exits?.has(id) !== true) return;
    try {
      for (const delayMs of drainRetriesMs) {
        const answer = await unlessGone(runtime.containerStatus(id, signal));
        if (answer?.status?.state !== ContainerState.CONTAINER_RUNNING) return;
        await clock.sleep(delayMs, signal);
      }
    } catch (error) {
      signal.throwIfAborted();
      const what = { pod: name, container: container.name, error: errorText(error) };
      log.debug("cannot find out whether the log of a container is complete", what);
    }
  }
}

/** The run whose log is meant: one that waits to start again has only the last one. */
function loggedContainerId(status: PodStatus, name: string, previous: boolean): string | undefined {
  const found = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ].find((container) => container.name === name);
  const last = found?.lastState?.terminated?.containerID;
  if (previous) return last;
  return found?.state?.waiting === undefined ? found?.containerID : last;
}
