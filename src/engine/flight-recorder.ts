import type { SyncRecord } from "../ports/agent-view.ts";
import type { Journal } from "../ports/journal.ts";

const recordsPerPod = 30;

/** Remembers the last syncs of every pod, on disk, so that `why` can answer after a restart as well. */
export class FlightRecorder {
  readonly #journal: Journal;
  readonly #recent = new Map<string, SyncRecord[]>();

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
