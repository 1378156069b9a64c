import { isTerminalPhase } from "../../core/status/phase.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { PodCheckpoint, PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { PodChanges } from "../view/pod-changes.ts";

export interface StatusCheckpointsDeps {
  readonly table: PodTable;
  readonly files: HostFiles;
  readonly folder: string;
  /** Has a folder of every pod that runs. */
  readonly podsFolder: string;
  readonly log: Log;
  /** Notified of every status that is on disk. */
  readonly changes: PodChanges;
}

const nothingKept: PodCheckpoint = {
  newest: undefined,
  written: undefined,
  isInherited: false,
  isOver: false,
  isPending: false,
  hasFailed: false,
};

/**
 * The last status of every pod, on disk. Without an API server nothing else keeps it, and a restarted agent
 * would take a pod that was ready for one that never was.
 */
export class StatusCheckpoints {
  readonly #deps: StatusCheckpointsDeps;
  readonly #kept: SliceWriter<"checkpoint">;
  /** UIDs of pods whose newest status is not written yet. */
  #queue: PodUid[] = [];
  #writing: Promise<void> | undefined;

  constructor(deps: StatusCheckpointsDeps) {
    this.#deps = deps;
    this.#kept = deps.table.writer("checkpoint");
  }

  /** Reads what the agent before this one kept. A damaged file costs that pod its history, no more. */
  async load(): Promise<void> {
    const { files, folder, podsFolder } = this.#deps;
    await files.ensureFolder(folder, 0o700);
    const names = await files.list(folder);
    const podFolders = new Set(await files.list(podsFolder));
    const statuses = await Promise.all(names.map((name) => this.#readFile(name)));
    for (const [index, status] of statuses.entries()) {
      const name = names[index];
      if (status === undefined || name === undefined) continue;
      const uid = podUid(name.slice(0, -".json".length));
      // The folder of a pod that has run goes when its life is over, before its checkpoint.
      const isOver = hasRun(status) && !podFolders.has(uid);
      const kept = { ...nothingKept, newest: status, written: status };
      this.#kept.set(uid, { ...kept, isOver, isInherited: !isOver });
    }
  }

  async #readFile(name: string): Promise<PodStatus | undefined> {
    const { files, folder, log } = this.#deps;
    const path = `${folder}/${name}`;
    if (!name.endsWith(".json")) {
      // What an agent was writing when it was killed.
      await files.removeFile(path);
      return undefined;
    }
    const text = await files.readText(path);
    try {
      return parseJsonText(text ?? "") as PodStatus;
    } catch (error) {
      log.warn("cannot read a status checkpoint", { name, error: errorText(error) });
      return undefined;
    }
  }

  /** The pod with the status that it last had here, as if it came from an API server. */
  restore(pod: Pod): Pod {
    const { newest, isOver = false } = this.#kept.get(pod.metadata.uid) ?? {};
    return newest === undefined || isOver ? pod : { ...pod, status: newest };
  }

  /** The pod's life is over: should it come back under its UID, it begins again, also with the next agent. */
  endLife(uid: PodUid): void {
    const kept = this.#kept.get(uid);
    if (kept === undefined || kept.isOver) return;
    this.#kept.set(uid, { ...kept, isOver: true });
    if (kept.newest !== undefined) this.#enqueue(uid);
  }

  /** What the agent before this one kept of the pod, until this one keeps something. */
  inherited(uid: PodUid): PodStatus | undefined {
    const kept = this.#kept.get(uid);
    return kept?.isInherited === true ? kept.newest : undefined;
  }

  /** Shown to others when it is on disk, unless a newer one has taken its place. An equal one is not written again. */
  save(uid: PodUid, status: PodStatus): void {
    const { isOver, ...before } = this.#kept.get(uid) ?? nothingKept;
    const kept = { ...before, isInherited: false, isOver: false };
    // Of a life that is over the file is removed.
    if (!isOver && deepEqual(kept.newest, status)) {
      this.#kept.set(uid, kept);
      return;
    }
    this.#kept.set(uid, { ...kept, newest: status });
    this.#enqueue(uid);
  }

  /** Writes again what could not be written: the next agent would know less than was shown. */
  retry(): void {
    for (const [uid, { hasFailed }] of this.#kept.entries()) if (hasFailed) this.#enqueue(uid);
  }

  /** Rejects where the file could not be removed; then the pod stays known here. */
  async remove(uid: PodUid): Promise<void> {
    const last = this.#kept.get(uid);
    if (last !== undefined) this.#kept.set(uid, { ...nothingKept, written: last.written });
    await this.#writing;
    // A pod of the same content has the same UID, and may have come back meanwhile.
    if (this.#isKept(uid)) return;
    if (last !== undefined) this.#kept.set(uid, nothingKept);
    try {
      await this.#deps.files.removeFile(this.#path(uid));
    } catch (error) {
      if (last !== undefined && !this.#isKept(uid)) {
        this.#kept.set(uid, { ...nothingKept, newest: last.newest });
      }
      throw error;
    }
    // What was written meanwhile may have been removed.
    if (this.#isKept(uid)) this.#enqueue(uid);
    else this.#kept.set(uid, undefined);
  }

  #isKept(uid: PodUid): boolean {
    return this.#kept.get(uid)?.newest !== undefined;
  }

  /** Resolves when everything saved so far is on disk. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #enqueue(uid: PodUid): void {
    const kept = this.#kept.get(uid);
    if (kept === undefined || kept.isPending) return;
    this.#kept.set(uid, { ...kept, isPending: true });
    this.#queue.push(uid);
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      await Promise.all(batch.map((uid) => this.#write(uid)));
    }
    this.#writing = undefined;
  }

  async #write(uid: PodUid): Promise<void> {
    const pending = this.#kept.get(uid);
    const status = pending?.newest;
    if (pending?.isPending !== true || status === undefined) return;
    this.#kept.set(uid, { ...pending, isPending: false });
    const hasFailed = !(await this.#tryWrite(uid, pending.isOver ? undefined : status));
    const kept = this.#kept.get(uid);
    if (kept?.newest === undefined) return;
    this.#kept.set(uid, { ...kept, written: status, hasFailed });
    if (kept.written !== status) this.#deps.changes.noteStatus(uid);
  }

  /** Undefined removes the one that is there. */
  async #tryWrite(uid: PodUid, status: PodStatus | undefined): Promise<boolean> {
    const { files, log } = this.#deps;
    const path = this.#path(uid);
    const text = JSON.stringify(status);
    try {
      if (status === undefined) await files.removeFile(path);
      // What still runs starts again with the machine; an end is for good.
      else if (isTerminalPhase(status.phase)) await files.writeFile(path, text, 0o600);
      else await files.writeBriefly(path, text, 0o600);
      return true;
    } catch (error) {
      // A full disk must not hide what happens.
      log.warn("cannot write a status checkpoint", { podUid: uid, error: errorText(error) });
      return false;
    }
  }

  #path(uid: PodUid): string {
    return `${this.#deps.folder}/${uid}.json`;
  }
}

function hasRun({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): boolean {
  return [...containerStatuses, ...initContainerStatuses].some(
    ({ containerID = "" }) => containerID !== "",
  );
}
