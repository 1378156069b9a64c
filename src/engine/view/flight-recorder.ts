import type { Decision } from "../../core/record/decision.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import type { SyncRecord } from "../../ports/agent-view.ts";
import type { Journal } from "../../ports/journal.ts";

const recordsPerPod = 30;
const decisionsPerPod = 60;

/**
 * Remembers the last syncs of every pod, on disk, so that `why` can answer after a restart as well; and the last
 * decisions with all that they were made from, in memory, so that they can be made again elsewhere.
 */
export class FlightRecorder {
  readonly #journal: Journal;
  readonly #recent = new Map<string, SyncRecord[]>();
  readonly #decisions = new Map<string, Decision[]>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** A sync that found nothing to do, like the one before it, is not worth an entry. */
  record(record: SyncRecord): void {
    const records = this.#recent.get(record.podUid) ?? [];
    this.#recent.set(record.podUid, records);
    const last = records.at(-1);
    if (last !== undefined && saysTheSame(last, record)) {
      records[records.length - 1] = record;
      return;
    }
    records.push(record);
    if (records.length > recordsPerPod) records.shift();
    this.#journal.append(record.podUid, record);
  }

  /** Takes it as it is: whoever decides from something that changes later hands over a copy. */
  noteDecision(decision: Decision): void {
    const { uid } = decision.input.pod.metadata;
    const decisions = this.#decisions.get(uid) ?? [];
    this.#decisions.set(uid, decisions);
    const before = decisions.findLastIndex(({ kind }) => kind === decision.kind);
    // One that says the same as the one before it takes its place: a pod at rest keeps its history.
    if (deepEqual(decisions[before]?.outcome, decision.outcome)) decisions.splice(before, 1);
    decisions.push(decision);
    if (decisions.length > decisionsPerPod) decisions.shift();
  }

  /** Of one pod or of all, in the order they were made. */
  decisions(podUid?: string): readonly Decision[] {
    if (podUid !== undefined) return this.#decisions.get(podUid) ?? [];
    return [...this.#decisions.values()].flat().toSorted((a, b) => a.atMs - b.atMs);
  }

  /** Newest first. */
  async list(podUid: string): Promise<readonly SyncRecord[]> {
    const recent = this.#recent.get(podUid) ?? [];
    const oldest = recent[0]?.startedAtMs ?? Number.POSITIVE_INFINITY;
    const stored = (await this.#journal.read(podUid)).filter(isSyncRecord);
    const earlier = stored.filter(({ startedAtMs }) => startedAtMs < oldest);
    return [...earlier, ...recent].slice(-recordsPerPod).toReversed();
  }

  /** The newest record of this run of the agent. */
  last(podUid: string): SyncRecord | undefined {
    return this.#recent.get(podUid)?.at(-1);
  }

  async forget(podUid: string): Promise<void> {
    this.#recent.delete(podUid);
    this.#decisions.delete(podUid);
    await this.#journal.remove(podUid);
  }
}

function saysTheSame(before: SyncRecord, after: SyncRecord): boolean {
  const essence = ({ kind, seen, steps, error }: SyncRecord): string =>
    JSON.stringify([
      kind,
      seen,
      steps.map(({ action, outcome, detail }) => [action, outcome, detail]),
      error,
    ]);
  return essence(before) === essence(after);
}

function isSyncRecord(entry: unknown): entry is SyncRecord {
  return typeof entry === "object" && entry !== null && "startedAtMs" in entry && "steps" in entry;
}
