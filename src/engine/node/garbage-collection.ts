import {
  type ContainerGcPolicy,
  type ContainerRemoval,
  type GcScope,
  goneReason,
  planContainerGc,
  planLogsGc,
  planSandboxGc,
  type RemovablePods,
} from "../../core/collect/container-gc.ts";
import type { NodeReclaim } from "../../core/eviction/rank-pods.ts";
import { podDirectory, podsDirectory } from "../../core/paths/data-paths.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import type { GcItem, GcOptions } from "../../model/gc-item.ts";
import type { Container, PodSandbox } from "../../model/generated/cri.ts";
import { podUid } from "../../model/ids.ts";
import { podNameLabel, podNamespaceLabel, podUidLabel } from "../../model/labels.ts";
import { unlessGone } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { ForeignFiles } from "../../ports/foreign-files.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import { removeContainer } from "../execute/remove-container.ts";
import type { ImageCollector } from "../images/image-collector.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { WorkerStates } from "../pods/worker-states.ts";

export interface GarbageCollectionDeps {
  readonly containers: ContainerCollector;
  readonly images: ImageCollector;
  readonly files: Pick<HostFiles, "list">;
  readonly rootFolder: string;
  readonly sources: SourceReadiness;
  readonly table: PodTable;
  readonly states: Pick<WorkerStates, "shouldPodContentBeRemoved">;
  readonly wakeups: Pick<Wakeups, "housekeep">;
}

/** What is not needed any more: lists it, and removes it on demand. */
export class GarbageCollection {
  readonly #deps: GarbageCollectionDeps;

  constructor(deps: GarbageCollectionDeps) {
    this.#deps = deps;
  }

  async plan({ all }: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { containers, images } = this.#deps;
    return [
      ...(await containers.plan({ evictNonDeletedPods: all }, signal)),
      ...(await images.plan({ all }, signal)),
      ...(await this.#planFolders()),
    ];
  }

  /** Removes it now, and says what was to go. */
  async collect(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { containers, images, wakeups } = this.#deps;
    const items = await this.plan(options, signal);
    await containers.collect({ evictNonDeletedPods: options.all }, signal);
    if (options.all) await images.deleteUnused(signal);
    else await images.collectNow(signal);
    // Folders of pods that are gone are removed there.
    wakeups.housekeep();
    return items;
  }

  /** Gives up everything unused of a kind: the node is short of room. */
  async reclaim(what: NodeReclaim, signal: AbortSignal): Promise<void> {
    const { containers, images } = this.#deps;
    if (what === "images") await images.deleteUnused(signal);
    else await containers.collect({ evictNonDeletedPods: true }, signal);
  }

  async #planFolders(): Promise<readonly GcItem[]> {
    const { files, rootFolder, sources, table, states } = this.#deps;
    if (!sources.areAllReady) return [];
    const names = await files.list(podsDirectory(rootFolder));
    return names
      .map(podUid)
      .filter((uid) => table.get(uid)?.wanted === undefined)
      .filter((uid) => states.shouldPodContentBeRemoved(uid))
      .map((uid): GcItem => {
        const id = podDirectory(rootFolder, uid);
        return { kind: "folder", id, name: uid, because: goneReason };
      });
  }
}

const collectMs = 60_000;

interface ContainerCollectorDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly foreignFiles: Pick<ForeignFiles, "removeTree">;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: { readonly policy: ContainerGcPolicy; readonly podLogsRoot: string };
  readonly sources: SourceReadiness;
  readonly states: WorkerStates;
  /** Whether the runtime was seen to have anything that does not run. */
  readonly observed: { readonly hasDead: boolean };
  readonly nodeEvents: NodeEvents;
}

type Scope = Pick<GcScope, "evictNonDeletedPods">;

/** Removes dead containers and sandboxes, and the logs of pods that are gone for good. */
export class ContainerCollector {
  readonly #deps: ContainerCollectorDeps;
  readonly #remains: RemovablePods;

  constructor(deps: ContainerCollectorDeps) {
    this.#deps = deps;
    const { states } = deps;
    this.#remains = {
      isContentRemovable: (uid) => states.shouldPodContentBeRemoved(uid),
      isRuntimeRemovable: (uid) => states.shouldPodRuntimeBeRemoved(uid),
      areLogsRemovable: (uid) => states.shouldPodLogsBeCollected(uid),
    };
  }

  /** Collects once a minute until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, observed, nodeEvents } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(collectMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.collect(observed.hasDead ? { evictNonDeletedPods: false } : undefined, signal);
      } catch (error) {
        if (signal.aborted) return;
        const message = errorText(error);
        log.warn("cannot collect dead containers", { error: message });
        nodeEvents.recordNode({ type: "Warning", reason: "ContainerGCFailed", message });
      }
    }
  }

  /**
   * Collects now; `scope`: undefined = there is nothing dead. One that cannot be removed holds up no other; the errors
   * come at the end.
   */
  async collect(scope: Scope | undefined, signal: AbortSignal): Promise<void> {
    const errors: string[] = [];
    if (scope !== undefined) await this.#collectDead(scope, errors, signal);
    const { foreignFiles, settings } = this.#deps;
    for (const name of await this.#planLogs()) {
      // It may have come back while the folders of others were removed.
      if (planLogsGc([name], this.#remains).length === 0) continue;
      const remove = () => foreignFiles.removeTree(`${settings.podLogsRoot}/${name}`, signal);
      await attempt(errors, remove, signal);
    }
    if (errors.length > 0) throw new Error(joinedErrors(errors));
  }

  /** What a collection would remove now. */
  async plan(scope: Scope, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { runtime, settings } = this.#deps;
    const containers = this.#leftHere(await runtime.listContainers({}, signal));
    const sandboxes = this.#leftHere(await runtime.listPodSandboxes({}, signal));
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
      ...(await this.#planLogs()).map((name): GcItem => {
        return { kind: "logs", id: `${settings.podLogsRoot}/${name}`, name, because: goneReason };
      }),
    ];
  }

  async #collectDead(scope: Scope, errors: string[], signal: AbortSignal): Promise<void> {
    const { runtime } = this.#deps;
    const dead = this.#leftHere(await runtime.listContainers({}, signal));
    for (const { id, stopFirst } of this.#planRemovals(dead, scope)) {
      const remove = async (): Promise<void> => {
        if (stopFirst) await runtime.stopContainer(id, 2, signal);
        await removeContainer(this.#deps, id, { keepLogs: false }, signal);
      };
      await attempt(errors, remove, signal);
    }
    const containers = await runtime.listContainers({}, signal);
    const sandboxes = this.#leftHere(await runtime.listPodSandboxes({}, signal));
    for (const { id } of planSandboxGc(sandboxes, containers, this.#remains, scope)) {
      const remove = async (): Promise<void> => {
        await unlessGone(runtime.stopPodSandbox(id, signal));
        await unlessGone(runtime.removePodSandbox(id, signal));
      };
      await attempt(errors, remove, signal);
    }
  }

  /** Without those of pods that are being removed, with all that they have. */
  #leftHere<T extends Container | PodSandbox>(listed: readonly T[]): readonly T[] {
    const { states } = this.#deps;
    return listed.filter(
      ({ labels }) => !states.isBeingRemoved(podUid(labels?.[podUidLabel] ?? "")),
    );
  }

  /** The names of the log folders of pods that are gone for good; an evicted pod's are among them. */
  async #planLogs(): Promise<readonly string[]> {
    const { files, settings, sources } = this.#deps;
    if (!sources.areAllReady) return [];
    return planLogsGc(await files.list(settings.podLogsRoot), this.#remains);
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

/** Tries one part of the work, whatever becomes of the others. */
async function attempt(
  errors: string[],
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    errors.push(errorText(error));
  }
}

function podLabel(labels: Readonly<Record<string, string>>): string {
  return `${labels[podNamespaceLabel] ?? ""}/${labels[podNameLabel] ?? ""}`;
}
