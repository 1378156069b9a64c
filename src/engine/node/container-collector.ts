import {
  type ContainerGcPolicy,
  type ContainerRemoval,
  type GcScope,
  goneReason,
  planContainerGc,
  planLogsGc,
  planSandboxGc,
} from "../../core/collect/container-gc.ts";
import type { NodeEvent } from "../../core/node/node-event.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import type { GcItem } from "../../model/gc-item.ts";
import type { Container } from "../../model/generated/cri.ts";
import { podNameLabel, podNamespaceLabel } from "../../model/labels.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { removeContainer } from "../execute/remove-container.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";

const collectMs = 60_000;

export interface ContainerCollectorDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly foreignFiles: Pick<ForeignFiles, "removeTree">;
  readonly clock: Clock;
  readonly log: Log;
  readonly policy: ContainerGcPolicy;
  readonly podLogsRoot: string;
  readonly sources: SourceReadiness;
  readonly isContentRemovable: (uid: string) => boolean;
  readonly isRuntimeRemovable: (uid: string) => boolean;
  /** Whether the runtime was seen to have anything that does not run. */
  readonly hasDead: () => boolean;
  readonly onNodeEvent?: ((event: NodeEvent) => void) | undefined;
}

type Scope = Pick<GcScope, "evictNonDeletedPods">;

/** Removes dead containers and sandboxes, and the logs of pods that are gone for good, once a minute. */
export async function runContainerCollector(
  deps: ContainerCollectorDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await deps.clock.sleep(collectMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const attempts = new Attempts(signal);
      const scope = { evictNonDeletedPods: false };
      if (deps.hasDead()) await collectDead(deps, scope, attempts, signal);
      await collectLogs(deps, attempts, signal);
      attempts.throwFailures();
    } catch (error) {
      if (signal.aborted) return;
      const message = errorText(error);
      deps.log.warn("cannot collect dead containers", { error: message });
      deps.onNodeEvent?.({ type: "Warning", reason: "ContainerGCFailed", message });
    }
  }
}

/** Removes dead containers and sandboxes now. One that cannot be removed holds up no other; the errors come at the end. */
export async function collectContainers(
  deps: ContainerCollectorDeps,
  scope: Scope,
  signal: AbortSignal,
): Promise<void> {
  const attempts = new Attempts(signal);
  await collectDead(deps, scope, attempts, signal);
  await collectLogs(deps, attempts, signal);
  attempts.throwFailures();
}

async function collectDead(
  deps: ContainerCollectorDeps,
  scope: Scope,
  attempts: Attempts,
  signal: AbortSignal,
): Promise<void> {
  const { runtime } = deps;
  const dead = await runtime.listContainers({}, signal);
  for (const { id, stopFirst } of planRemovals(deps, dead, scope)) {
    await attempts.make(async () => {
      if (stopFirst) await runtime.stopContainer(id, 2, signal);
      await removeContainer(deps, id, { keepLogs: false }, signal);
    });
  }
  const containers = await runtime.listContainers({}, signal);
  const sandboxes = await runtime.listPodSandboxes({}, signal);
  for (const { id } of planSandboxGc(sandboxes, containers, deps, scope)) {
    await attempts.make(async () => {
      await runtime.stopPodSandbox(id, signal);
      await runtime.removePodSandbox(id, signal);
    });
  }
}

async function collectLogs(
  deps: ContainerCollectorDeps,
  attempts: Attempts,
  signal: AbortSignal,
): Promise<void> {
  for (const folder of await planLogsCollection(deps)) {
    await attempts.make(() => deps.foreignFiles.removeTree(folder, signal));
  }
}

/** Work of which each part is tried, whatever becomes of the others. */
class Attempts {
  readonly #signal: AbortSignal;
  readonly #errors: string[] = [];

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async make(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#errors.push(errorText(error));
    }
  }

  throwFailures(): void {
    if (this.#errors.length > 0) throw new Error(joinedErrors(this.#errors));
  }
}

/** The log folders of pods that are gone for good; an evicted pod's are among them. */
async function planLogsCollection(deps: ContainerCollectorDeps): Promise<readonly string[]> {
  const { files, podLogsRoot, sources } = deps;
  if (!sources.areAllHeard) return [];
  const names = planLogsGc(await files.list(podLogsRoot), deps);
  return names.map((name) => `${podLogsRoot}/${name}`);
}

/** What a collection would remove now. */
export async function planContainerCollection(
  deps: ContainerCollectorDeps,
  scope: Scope,
  signal: AbortSignal,
): Promise<readonly GcItem[]> {
  const containers = await deps.runtime.listContainers({}, signal);
  const sandboxes = await deps.runtime.listPodSandboxes({}, signal);
  const removals = planRemovals(deps, containers, scope);
  const removed = new Set(removals.map(({ id }) => id));
  const rest = containers.filter(({ id = "" }) => !removed.has(id));
  const podOf = new Map(containers.map(({ id = "", labels = {} }) => [id, podLabel(labels)]));
  return [
    ...removals.map(({ id, name, because }): GcItem => {
      return { kind: "container", id, name: `${podOf.get(id) ?? ""}/${name}`, because };
    }),
    ...planSandboxGc(sandboxes, rest, deps, scope).map(
      (removal): GcItem => ({ kind: "sandbox", ...removal }),
    ),
    ...(await planLogsCollection(deps)).map((id): GcItem => {
      const name = id.slice(deps.podLogsRoot.length + 1);
      return { kind: "logs", id, name, because: goneReason };
    }),
  ];
}

function planRemovals(
  deps: ContainerCollectorDeps,
  containers: readonly Container[],
  scope: Scope,
): readonly ContainerRemoval[] {
  const { policy, clock, sources } = deps;
  return planContainerGc(containers, deps, {
    policy,
    nowMs: clock.nowMs(),
    allSourcesReady: sources.areAllHeard,
    ...scope,
  });
}

function podLabel(labels: Readonly<Record<string, string>>): string {
  return `${labels[podNamespaceLabel] ?? ""}/${labels[podNameLabel] ?? ""}`;
}
