import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import type { EphemeralContainer } from "../../model/generated/kubernetes.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { PodTable, SliceWriter } from "./pod-table.ts";

interface EphemeralContainersDeps {
  readonly table: PodTable;
  readonly files: HostFiles;
  readonly folder: string;
  readonly log: Log;
}

/**
 * The containers that were added to running pods, on disk. A manifest cannot hold them, and a restarted agent would
 * not know whose they are.
 */
export class EphemeralContainers {
  readonly #files: HostFiles;
  readonly #folder: string;
  readonly #log: Log;
  readonly #added: SliceWriter<"ephemeral">;

  constructor({ table, files, folder, log }: EphemeralContainersDeps) {
    this.#files = files;
    this.#folder = folder;
    this.#log = log;
    this.#added = table.writer("ephemeral");
  }

  /** Reads what the agent before this one kept. */
  async load(): Promise<void> {
    await this.#files.ensureFolder(this.#folder, 0o700);
    for (const name of await this.#files.list(this.#folder)) {
      if (!name.endsWith(".json")) continue;
      try {
        const text = await this.#files.readText(`${this.#folder}/${name}`);
        const containers = parseJsonText(text ?? "") as readonly EphemeralContainer[];
        this.#added.set(podUid(name.slice(0, -".json".length)), containers);
      } catch (error) {
        this.#log.warn("cannot read ephemeral containers", { name, error: errorText(error) });
      }
    }
  }

  /** The pod with what was added to it. */
  restore(pod: Pod): Pod {
    const ephemeralContainers = this.#added.get(pod.metadata.uid);
    return ephemeralContainers === undefined
      ? pod
      : { ...pod, spec: { ...pod.spec, ephemeralContainers } };
  }

  /** Resolves when it is on disk: only then may one of them start. */
  async set(uid: PodUid, containers: readonly EphemeralContainer[]): Promise<void> {
    await this.#files.writeFile(this.#path(uid), JSON.stringify(containers), 0o600);
    this.#added.set(uid, containers);
  }

  async remove(uid: PodUid): Promise<void> {
    const added = this.#added.get(uid);
    if (added === undefined) return;
    this.#added.set(uid, undefined);
    try {
      await this.#files.removeFile(this.#path(uid));
    } catch (error) {
      if (this.#added.get(uid) === undefined) this.#added.set(uid, added);
      throw error;
    }
  }

  #path(uid: PodUid): string {
    return `${this.#folder}/${uid}.json`;
  }
}
