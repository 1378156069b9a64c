import { type Decision, decisionPod } from "../../core/record/decision.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { SyncRecord } from "../../ports/agent-view.ts";
import type { Journal } from "../../ports/journal.ts";
import type { PodRecords, PodTable, SliceWriter } from "../pods/pod-table.ts";

const recordsPerPod = 30;
const decisionsPerPod = 60;
const nothingRecorded: PodRecords = { syncs: [], decisions: [] };

/**
 * Remembers the last syncs of every pod, on disk, so that `why` can answer after a restart as well; and the last
 * decisions with all that they were made from, in memory, so that they can be made again elsewhere.
 */
export class FlightRecorder {
  readonly #journal: Journal;
  readonly #records: SliceWriter<"records">;

  constructor(table: PodTable, journal: Journal) {
    this.#records = table.writer("records");
    this.#journal = journal;
  }

  /** Finds the histories that the agent before this one left, perhaps of pods that nothing else remembers. */
  async load(): Promise<void> {
    for (const key of await this.#journal.list()) {
      this.#records.set(podUid(key), { ...nothingRecorded, isInherited: true });
    }
  }

  /** A sync that found nothing to do, like the one before it, is not worth an entry. */
  record(record: SyncRecord): void {
    const { syncs, decisions } = this.#records.get(record.podUid) ?? nothingRecorded;
    const last = syncs.at(-1);
    const isRepeated = last !== undefined && saysTheSame(last, record);
    const earlier = isRepeated ? syncs.slice(0, -1) : syncs.slice(1 - recordsPerPod);
    this.#records.set(record.podUid, { syncs: [...earlier, record], decisions });
    if (!isRepeated) this.#journal.append(record.podUid, record);
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
  async list(podUid: PodUid): Promise<readonly SyncRecord[]> {
    const recent = this.#records.get(podUid)?.syncs ?? [];
    const oldest = recent[0]?.startedAtMs ?? Number.POSITIVE_INFINITY;
    const stored = (await this.#journal.read(podUid)).filter(isSyncRecord);
    const earlier = stored.filter(({ startedAtMs }) => startedAtMs < oldest);
    return [...earlier, ...recent].slice(-recordsPerPod).toReversed();
  }

  /** The newest record of this run of the agent. */
  last(podUid: PodUid): SyncRecord | undefined {
    return this.#records.get(podUid)?.syncs.at(-1);
  }

  /** Nothing of the pod is left. */
  async remove(podUid: PodUid): Promise<void> {
    this.#records.set(podUid, undefined);
    await this.#journal.remove(podUid);
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

function isSyncRecord(entry: unknown): entry is SyncRecord {
  return typeof entry === "object" && entry !== null && "startedAtMs" in entry && "steps" in entry;
}
