import { goneReason } from "../../core/collect/container-gc.ts";
import { podDirectory, podsDirectory } from "../../core/paths/data-paths.ts";
import type { GcItem, GcOptions } from "../../model/gc-item.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { ImageCollector } from "../images/image-collector.ts";
import {
  type ContainerCollectorDeps,
  collectContainers,
  planContainerCollection,
} from "./container-collector.ts";

export interface GarbageCollectionDeps {
  readonly containers: ContainerCollectorDeps;
  readonly images: ImageCollector;
  readonly files: Pick<HostFiles, "list">;
  readonly rootFolder: string;
  /** Some source has the pod. */
  readonly isWanted: (uid: string) => boolean;
  /** Removes what pods left that are gone. */
  readonly requestHousekeeping: () => void;
}

/** What nobody needs any more: says what it is, and removes it on demand. */
export class GarbageCollection {
  readonly #deps: GarbageCollectionDeps;

  constructor(deps: GarbageCollectionDeps) {
    this.#deps = deps;
  }

  async plan({ all }: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { containers, images } = this.#deps;
    return [
      ...(await planContainerCollection(containers, { evictNonDeletedPods: all }, signal)),
      ...(await images.plan({ all }, signal)),
      ...(await this.#planFolders()),
    ];
  }

  /** Removes it now, and says what was to go. */
  async collect(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]> {
    const { containers, images, requestHousekeeping } = this.#deps;
    const items = await this.plan(options, signal);
    await collectContainers(containers, { evictNonDeletedPods: options.all }, signal);
    if (options.all) await images.deleteUnused(signal);
    else await images.collectNow(signal);
    requestHousekeeping();
    return items;
  }

  async #planFolders(): Promise<readonly GcItem[]> {
    const { containers, files, rootFolder, isWanted } = this.#deps;
    if (!containers.sources.areAllHeard) return [];
    const uids = await files.list(podsDirectory(rootFolder));
    return uids
      .filter((uid) => !isWanted(uid) && containers.isContentRemovable(uid))
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
