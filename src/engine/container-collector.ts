import {
  type ContainerGcPolicy,
  planContainerGc,
  planSandboxGc,
} from "../core/collect/container-gc.ts";
import { errorText } from "../lib/error-text.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContainerRuntime } from "../ports/container-runtime.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Log } from "../ports/log.ts";
import { removeContainer } from "./execute/remove-container.ts";

const collectMs = 60_000;

export interface ContainerCollectorDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly policy: ContainerGcPolicy;
  readonly allSourcesReady: () => boolean;
  readonly isContentRemovable: (uid: string) => boolean;
  readonly isRuntimeRemovable: (uid: string) => boolean;
}

/** Removes dead containers and sandboxes of pods that go on living, once a minute. */
export async function runContainerCollector(
  deps: ContainerCollectorDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await deps.clock.sleep(collectMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await collectContainers(deps, signal);
    } catch (error) {
      if (signal.aborted) return;
      deps.log.warn("cannot collect dead containers", { error: errorText(error) });
    }
  }
}

async function collectContainers(deps: ContainerCollectorDeps, signal: AbortSignal): Promise<void> {
  const { runtime, policy, clock } = deps;
  const scope = { allSourcesReady: deps.allSourcesReady(), evictNonDeletedPods: false };
  const removals = planContainerGc(await runtime.listContainers({}, signal), deps, {
    policy,
    nowMs: clock.nowMs(),
    ...scope,
  });
  for (const { id, stopFirst } of removals) {
    if (stopFirst) await runtime.stopContainer(id, 2, signal);
    await removeContainer(deps, id, { keepLogs: false }, signal);
  }
  const containers = await runtime.listContainers({}, signal);
  const sandboxes = await runtime.listPodSandboxes({}, signal);
  for (const id of planSandboxGc(sandboxes, containers, deps, scope)) {
    await runtime.stopPodSandbox(id, signal);
    await runtime.removePodSandbox(id, signal);
  }
}
