import { goneReason } from "../../core/collect/container-gc.ts";
import type { NodeReclaim } from "../../core/eviction/rank-pods.ts";
import { podDirectory, podsDirectory } from "../../core/paths/data-paths.ts";
import type { GcItem, GcOptions } from "../../model/gc-item.ts";
import { podUid } from "../../model/ids.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ImageCollector } from "../images/image-collector.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { WorkerStates } from "../pods/worker-states.ts";
import type { ContainerCollector } from "./container-collector.ts";

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
        return {
          kind: "folder",
          id: podDirectory(rootFolder, uid),
          name: uid,
          because: goneReason,
        };
      });
  }
}
