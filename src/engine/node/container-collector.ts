import {
  type ContainerGcPolicy,
  type ContainerRemoval,
  type GcScope,
  goneReason,
  type PodRemains,
  planContainerGc,
  planLogsGc,
  planSandboxGc,
} from "../../core/collect/container-gc.ts";
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
import type { NodeEvents } from "../cluster/event-sender.ts";
import { removeContainer } from "../execute/remove-container.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { WorkerStates } from "../pods/worker-states.ts";

const collectMs = 60_000;

export interface ContainerCollectorDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly foreignFiles: Pick<ForeignFiles, "removeTree">;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: { readonly policy: ContainerGcPolicy; readonly podLogsRoot: string };
  readonly sources: SourceReadiness;
  readonly states: Pick<WorkerStates, "shouldPodContentBeRemoved" | "shouldPodRuntimeBeRemoved">;
  /** Whether the runtime was seen to have anything that does not run. */
  readonly observed: { readonly hasDead: boolean };
  /** Undefined = the node belongs to no cluster. */
  readonly nodeEvents: NodeEvents | undefined;
}

type Scope = Pick<GcScope, "evictNonDeletedPods">;

/** Removes dead containers and sandboxes, and the logs of pods that are gone for good. */
export class ContainerCollector {
  readonly #deps: ContainerCollectorDeps;
  readonly #remains: PodRemains;

  constructor(deps: ContainerCollectorDeps) {
    this.#deps = deps;
    const { states } = deps;
    this.#remains = {
      isContentRemovable: (uid) => states.shouldPodContentBeRemoved(uid),
      isRuntimeRemovable: (uid) => states.shouldPodRuntimeBeRemoved(uid),
    };
  }

  /** Collects once a minute until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, observed, nodeEvents } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(collectMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const attempts = new Attempts(signal);
        const scope = { evictNonDeletedPods: false };
        if (observed.hasDead) await this.#collectDead(scope, attempts, signal);
        await this.#collectLogs(attempts, signal);
        attempts.throwFailures();
      } catch (error) {
        if (signal.aborted) return;
        const message = errorText(error);
        log.warn("cannot collect dead containers", { error: message });
        nodeEvents?.recordNode({ type: "Warning", reason: "ContainerGCFailed", message });
      }
    }
  }

  /** Collects now. One that cannot be removed holds up no other; the errors come at the end. */
  async collect(scope: Scope, signal: AbortSignal): Promise<void> {
    const attempts = new Attempts(signal);
    await this.#collectDead(scope, attempts, signal);
    await this.#collectLogs(attempts, signal);
    attempts.throwFailures();
  }

  /** What a collection would remove now. */
  async plan(scope: Scope, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { runtime, settings } = this.#deps;
    const containers = await runtime.listContainers({}, signal);
    const sandboxes = await runtime.listPodSandboxes({}, signal);
    const removals = this.#planRemovals(containers, scope);
    const removed = new Set<string>(removals.map(({ id }) => id));
    const rest = containers.filter(({ id = "" }) => !removed.has(id));
    const podOf = new Map(containers.map(({ id = "", labels = {} }) => [id, podLabel(labels)]));
    return [
      ...removals.map(({ id, name, because }): GcItem => {
        return { kind: "container", id, name: `${podOf.get(id) ?? ""}/${name}`, because };
      }),
      ...planSandboxGc(sandboxes, rest, this.#remains, scope).map(
        (removal): GcItem => ({ kind: "sandbox", ...removal }),
      ),
      ...(await this.#planLogs()).map((id): GcItem => {
        const name = id.slice(settings.podLogsRoot.length + 1);
        return { kind: "logs", id, name, because: goneReason };
      }),
    ];
  }

  async #collectDead(scope: Scope, attempts: Attempts, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#deps;
    const dead = await runtime.listContainers({}, signal);
    for (const { id, stopFirst } of this.#planRemovals(dead, scope)) {
      await attempts.make(async () => {
        if (stopFirst) await runtime.stopContainer(id, 2, signal);
        await removeContainer(this.#deps, id, { keepLogs: false }, signal);
      });
    }
    const containers = await runtime.listContainers({}, signal);
    const sandboxes = await runtime.listPodSandboxes({}, signal);
    for (const { id } of planSandboxGc(sandboxes, containers, this.#remains, scope)) {
      await attempts.make(async () => {
        await runtime.stopPodSandbox(id, signal);
        await runtime.removePodSandbox(id, signal);
      });
    }
  }

  async #collectLogs(attempts: Attempts, signal: AbortSignal): Promise<void> {
    for (const folder of await this.#planLogs()) {
      await attempts.make(() => this.#deps.foreignFiles.removeTree(folder, signal));
    }
  }

  /** The log folders of pods that are gone for good; an evicted pod's are among them. */
  async #planLogs(): Promise<readonly string[]> {
    const { files, settings, sources } = this.#deps;
    const { podLogsRoot } = settings;
    if (!sources.areAllReady) return [];
    const names = planLogsGc(await files.list(podLogsRoot), this.#remains);
    return names.map((name) => `${podLogsRoot}/${name}`);
  }

  #planRemovals(containers: readonly Container[], scope: Scope): readonly ContainerRemoval[] {
    const { settings, clock, sources } = this.#deps;
    return planContainerGc(containers, this.#remains, {
      policy: settings.policy,
      nowMs: clock.nowMs(),
      allSourcesReady: sources.areAllReady,
      ...scope,
    });
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

function podLabel(labels: Readonly<Record<string, string>>): string {
  return `${labels[podNamespaceLabel] ?? ""}/${labels[podNameLabel] ?? ""}`;
}
