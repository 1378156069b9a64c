import { deepEqual } from "../lib/deep-equal.ts";
import { errorText } from "../lib/error-text.ts";
import type { PodStatus } from "../model/generated/kubernetes.ts";
import type { Pod } from "../model/pod.ts";
import type { HostFiles } from "../ports/host-files.ts";
import type { Log } from "../ports/log.ts";

/**
 * The last status of every pod, on disk. Without an API server nobody else remembers it, and a restarted agent
 * would take a pod that was ready for one that never was.
 */
export class StatusCheckpoints {
  readonly #files: HostFiles;
  readonly #folder: string;
  readonly #log: Log;
  readonly #stored = new Map<string, PodStatus>();
  readonly #pending = new Map<string, PodStatus>();
  #writing: Promise<void> | undefined;

  constructor(files: HostFiles, folder: string, log: Log) {
    this.#files = files;
    this.#folder = folder;
    this.#log = log;
  }

  /** Reads what the agent before this one kept. A damaged file costs that pod its history, no more. */
  async load(): Promise<void> {
    await this.#files.ensureFolder(this.#folder, 0o700);
    for (const name of await this.#files.list(this.#folder)) {
      if (!name.endsWith(".json")) continue;
      const text = await this.#files.readText(`${this.#folder}/${name}`);
      try {
        this.#stored.set(name.slice(0, -5), JSON.parse(text ?? "") as PodStatus);
      } catch (error) {
        this.#log.warn("cannot read a status checkpoint", { name, error: errorText(error) });
      }
    }
  }

  /** UIDs of the pods that have a status here. */
  get uids(): readonly string[] {
    return [...this.#stored.keys()];
  }

  /** The pod with the status that it last had here, as if an API server had told it. */
  restore(pod: Pod): Pod {
    const status = this.#stored.get(pod.metadata.uid);
    return status === undefined ? pod : { ...pod, status };
  }

  /** False when that is the status that the pod last had here: after a restart, the first one is no news. */
  save(uid: string, status: PodStatus): boolean {
    if (deepEqual(this.#stored.get(uid), status)) return false;
    this.#stored.set(uid, status);
    this.#pending.set(uid, status);
    this.#writing ??= this.#writeAll();
    return true;
  }

  async remove(uid: string): Promise<void> {
    this.#stored.delete(uid);
    this.#pending.delete(uid);
    await this.#writing;
    await this.#files.removeFile(this.#path(uid));
  }

  /** Resolves when everything saved so far is on disk. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      for (const [uid, status] of this.#pending) {
        this.#pending.delete(uid);
        await this.#files.writeFile(this.#path(uid), JSON.stringify(status), 0o600);
      }
    } catch (error) {
      this.#log.warn("cannot write a status checkpoint", { error: errorText(error) });
    } finally {
      this.#writing = undefined;
    }
  }

  #path(uid: string): string {
    return `${this.#folder}/${uid}.json`;
  }
}
