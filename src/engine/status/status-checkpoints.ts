import { isTerminalPhase } from "../../core/status/phase.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";

interface PendingStatus {
  readonly status: PodStatus;
  readonly onWritten: () => void;
}

/**
 * The last status of every pod, on disk. Without an API server nobody else remembers it, and a restarted agent
 * would take a pod that was ready for one that never was.
 */
export class StatusCheckpoints {
  readonly #files: HostFiles;
  readonly #folder: string;
  readonly #log: Log;
  /** The newest of each pod. */
  readonly #stored = new Map<string, PodStatus>();
  readonly #written = new Map<string, PodStatus>();
  /** Pods of which this agent has kept nothing yet: what is here is from the one before. */
  readonly #inherited = new Set<string>();
  /** Pods that are gone from the node; what they left may still be there. */
  readonly #over = new Set<string>();
  readonly #pending = new Map<string, PendingStatus>();
  /** Pods whose newest status could not be written. */
  readonly #failed = new Set<string>();
  #writing: Promise<void> | undefined;

  constructor(files: HostFiles, folder: string, log: Log) {
    this.#files = files;
    this.#folder = folder;
    this.#log = log;
  }

  /** Reads what the agent before this one kept. A damaged file costs that pod its history, no more. */
  async load(): Promise<void> {
    await this.#files.ensureFolder(this.#folder, 0o700);
    const names = await this.#files.list(this.#folder);
    await Promise.all(names.map((name) => this.#loadFile(name)));
  }

  async #loadFile(name: string): Promise<void> {
    const path = `${this.#folder}/${name}`;
    // What an agent was writing when it was killed.
    if (!name.endsWith(".json")) return this.#files.removeFile(path);
    const text = await this.#files.readText(path);
    const uid = name.slice(0, -".json".length);
    try {
      const status = parseJsonText(text ?? "") as PodStatus;
      this.#stored.set(uid, status);
      this.#written.set(uid, status);
      this.#inherited.add(uid);
    } catch (error) {
      this.#log.warn("cannot read a status checkpoint", { name, error: errorText(error) });
    }
  }

  /** UIDs of the pods that have a status here. */
  get uids(): readonly string[] {
    return [...this.#stored.keys()];
  }

  /** The pod with the status that it last had here, as if an API server had told it. */
  restore(pod: Pod): Pod {
    const { uid } = pod.metadata;
    const status = this.#over.has(uid) ? undefined : this.#stored.get(uid);
    return status === undefined ? pod : { ...pod, status };
  }

  /** All pods but these are over: should one come back under its UID, it begins anew. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#stored.keys()) if (!uids.has(uid)) this.#over.add(uid);
  }

  /** What the agent before this one kept of the pod, until this one keeps something. */
  inherited(uid: string): PodStatus | undefined {
    return this.#inherited.has(uid) ? this.#stored.get(uid) : undefined;
  }

  /** What the next agent will know of the pod if this one ends now: nobody may be told more. */
  written(uid: string): PodStatus | undefined {
    return this.#written.get(uid);
  }

  /**
   * Calls back when the status is on disk, unless a newer one has taken its place. The status that the pod last had
   * here is no news.
   */
  save(uid: string, status: PodStatus, onWritten: () => void): void {
    this.#inherited.delete(uid);
    this.#over.delete(uid);
    if (deepEqual(this.#stored.get(uid), status)) return;
    this.#stored.set(uid, status);
    this.#pending.set(uid, { status, onWritten });
    this.#writing ??= this.#writeAll();
  }

  /** Writes again what could not be written: the next agent would know less than was told. */
  retry(): void {
    for (const uid of this.#failed) {
      const status = this.#stored.get(uid);
      if (status === undefined || this.#pending.has(uid)) continue;
      this.#pending.set(uid, { status, onWritten: () => undefined });
    }
    this.#failed.clear();
    if (this.#pending.size > 0) this.#writing ??= this.#writeAll();
  }

  /** Rejects where the file could not be removed; then the pod stays known here. */
  async remove(uid: string): Promise<void> {
    const last = this.#stored.get(uid);
    this.#stored.delete(uid);
    this.#inherited.delete(uid);
    this.#over.delete(uid);
    this.#pending.delete(uid);
    await this.#writing;
    // A pod of the same content has the same UID, and may have come back meanwhile.
    if (this.#stored.has(uid)) return;
    this.#written.delete(uid);
    try {
      await this.#files.removeFile(this.#path(uid));
    } catch (error) {
      if (last !== undefined && !this.#stored.has(uid)) this.#stored.set(uid, last);
      throw error;
    }
  }

  /** Resolves when everything saved so far is on disk. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#pending.size > 0) {
      const batch = [...this.#pending];
      this.#pending.clear();
      await Promise.all(batch.map(([uid, pending]) => this.#write(uid, pending)));
    }
    this.#writing = undefined;
  }

  async #write(uid: string, { status, onWritten }: PendingStatus): Promise<void> {
    const text = JSON.stringify(status);
    try {
      // What still runs starts anew with the machine; an end is for good.
      if (isTerminalPhase(status.phase)) await this.#files.writeFile(this.#path(uid), text, 0o600);
      else await this.#files.writeBriefly(this.#path(uid), text, 0o600);
    } catch (error) {
      this.#failed.add(uid);
      // A full disk must not hide what happens.
      this.#log.warn("cannot write a status checkpoint", { error: errorText(error) });
    }
    this.#written.set(uid, status);
    onWritten();
  }

  #path(uid: string): string {
    return `${this.#folder}/${uid}.json`;
  }
}
