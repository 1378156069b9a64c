import { podUidOfLogsDirectory } from "../../../core/paths/log-paths.ts";
import type { PodUid } from "../../../model/ids.ts";
import type { HostFiles } from "../../../ports/host-files.ts";

type FoldersByUid = ReadonlyMap<PodUid, readonly string[]>;

/**
 * The names of all pods' log folders by the UID in them. Callers that ask while they are listed share the next list with
 * all who ask meanwhile: many removals at once list the folders a few times, not once each.
 */
export class LogFolders {
  readonly #files: Pick<HostFiles, "list">;
  readonly #podLogsRoot: string;
  #current: Promise<FoldersByUid> | undefined;
  #next: Promise<FoldersByUid> | undefined;

  constructor(files: Pick<HostFiles, "list">, podLogsRoot: string) {
    this.#files = files;
    this.#podLogsRoot = podLogsRoot;
  }

  /** As they are at the time of the call, or later. */
  list(): Promise<FoldersByUid> {
    if (this.#current === undefined) return this.#begin();
    this.#next ??= this.#current.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<FoldersByUid> {
    this.#next = undefined;
    const listing = this.#read().finally(() => {
      if (this.#current === listing) this.#current = undefined;
    });
    this.#current = listing;
    return listing;
  }

  async #read(): Promise<FoldersByUid> {
    const byUid = new Map<PodUid, string[]>();
    for (const name of await this.#files.list(this.#podLogsRoot)) {
      const uid = podUidOfLogsDirectory(name);
      const names = byUid.get(uid);
      if (names === undefined) byUid.set(uid, [name]);
      else names.push(name);
    }
    return byUid;
  }
}
