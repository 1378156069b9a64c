import { type Decision, decisionPod } from "../../core/record/decision.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import type { PodUid } from "../../model/ids.ts";
import type { SyncRecord } from "../../ports/sync-record.ts";
import type { PodRecords, PodTable, SliceWriter } from "../pods/pod-table.ts";
import { type NodeHistory, recordedSync } from "./node-history.ts";

const recordsPerPod = 30;
const decisionsPerPod = 60;
const nothingRecorded: PodRecords = { syncs: [], decisions: [] };

/**
 * Remembers the last syncs of every pod, which are part of history, so that `why` can answer after a restart as well; and the
 * last decisions with all that they were made from, in memory, so that they can be made again elsewhere.
 */
export class FlightRecorder {
  readonly #history: Pick<NodeHistory, "noteSync" | "entries">;
  readonly #records: SliceWriter<"records">;
  readonly #watchers = new Set<(record: SyncRecord) => void>();

  constructor(table: PodTable, history: Pick<NodeHistory, "noteSync" | "entries">) {
    this.#records = table.writer("records");
    this.#history = history;
  }

  /** A sync that found nothing to do, like the one before it, is not worth an entry. */
  record(record: SyncRecord): void {
    const { syncs, ...known } = this.#records.get(record.podUid) ?? nothingRecorded;
    const last = syncs.at(-1);
    const isRepeated = last !== undefined && saysTheSame(last, record);
    const earlier = isRepeated ? syncs.slice(0, -1) : syncs.slice(1 - recordsPerPod);
    this.#records.set(record.podUid, { ...known, syncs: [...earlier, record] });
    if (isRepeated) return;
    this.#history.noteSync(record);
    for (const watcher of this.#watchers) watcher(record);
  }

  /** Calls back for every new entry, until `signal` aborts. A watcher must not throw. */
  watch(onSync: (record: SyncRecord) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#watchers.add(onSync);
    signal.addEventListener("abort", () => this.#watchers.delete(onSync), { once: true });
  }

  /** Takes it as it is: a caller whose input changes later passes a copy. */
  noteDecision(decision: Decision): void {
    const { uid } = decisionPod(decision);
    const records = this.#records.get(uid) ?? nothingRecorded;
    const { decisions: before } = records;
    const index = before.findLastIndex(({ kind }) => kind === decision.kind);
    // One that says the same as the one before it takes its place: a pod at rest keeps its history.
    const isRepeated = deepEqual(before[index]?.outcome, decision.outcome);
    const earlier = before.slice(isRepeated ? 0 : 1 - decisionsPerPod);
    if (isRepeated) earlier.splice(index, 1);
    this.#records.set(uid, { ...records, decisions: [...earlier, decision] });
  }

  /** Of one pod or of all, in the order they were made. */
  decisions(podUid?: PodUid): readonly Decision[] {
    if (podUid !== undefined) return this.#records.get(podUid)?.decisions ?? [];
    const all = [...this.#records.entries()].flatMap(([, { decisions }]) => decisions);
    return all.toSorted((a, b) => a.atMs - b.atMs);
  }

  /** Newest first. */
  async list(podUid: PodUid, signal: AbortSignal): Promise<readonly SyncRecord[]> {
    const before = this.#records.get(podUid) ?? nothingRecorded;
    if (before.syncs.length >= recordsPerPod) return before.syncs.toReversed();
    const earlier = before.earlier ?? (await this.#readEarlier(podUid, before.syncs[0], signal));
    const { syncs } = this.#records.get(podUid) ?? before;
    return [...earlier, ...syncs].slice(-recordsPerPod).toReversed();
  }

  /** What the agents before this one recorded of the pod's life, oldest first. It is read once. */
  async #readEarlier(
    podUid: PodUid,
    oldest: SyncRecord | undefined,
    signal: AbortSignal,
  ): Promise<readonly SyncRecord[]> {
    const query = { uid: podUid, kinds: ["sync", "gone"], limit: recordsPerPod } as const;
    const { items } = await this.#history.entries(query, signal);
    const lastEnd = items.findIndex(({ kind }) => kind === "gone");
    const ofThisLife = lastEnd < 0 ? items : items.slice(0, lastEnd);
    const earlier = ofThisLife
      .flatMap((entry) => (entry.kind === "sync" ? recordedSync(entry) : []))
      .filter(({ startedAtMs }) => oldest === undefined || startedAtMs < oldest.startedAtMs)
      .toReversed();
    const known = this.#records.get(podUid);
    if (known !== undefined) this.#records.set(podUid, { ...known, earlier });
    return earlier;
  }

  /** The newest record of this run of the agent. */
  last(podUid: PodUid): SyncRecord | undefined {
    return this.#records.get(podUid)?.syncs.at(-1);
  }

  /** Nothing of the pod is left. */
  forget(podUid: PodUid): void {
    this.#records.set(podUid, undefined);
  }
}

function saysTheSame(before: SyncRecord, after: SyncRecord): boolean {
  const essence = ({ kind, seen, steps, error, cancelled }: SyncRecord): string =>
    JSON.stringify([
      kind,
      seen,
      steps.map(({ action, outcome, detail }) => [action, outcome, detail]),
      error,
      cancelled,
    ]);
  return essence(before) === essence(after);
}
