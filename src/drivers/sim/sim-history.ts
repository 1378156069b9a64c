import type {
  AgentEntry,
  HistoryEntry,
  HistoryPage,
  HistoryPod,
  HistoryPods,
  HistoryQuery,
  HistoryStore,
  NodeSample,
  StatusEntry,
  StoredMoment,
} from "../../ports/history.ts";

const mostEntries = 20_000;
const usualLimit = 200;

/** History in memory. */
export class SimHistory implements HistoryStore {
  #entries: HistoryEntry[] = [];
  /** How many were dropped: an entry's place in all that ever was appended never changes. */
  #dropped = 0;

  append(entry: HistoryEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length <= mostEntries) return;
    this.#dropped += mostEntries / 2;
    this.#entries = this.#entries.slice(mostEntries / 2);
  }

  /** Entries that are dropped here are older than any that a simulation asks for. */
  keep(): void {}

  entries(query: HistoryQuery): Promise<HistoryPage> {
    const { limit = usualLimit, before } = query;
    const end = before === undefined ? this.#entries.length : Number(before) - this.#dropped;
    const places = [...this.#entries.keys()].slice(0, Math.max(end, 0)).toReversed();
    const found = places.filter((place) => matches(this.#entries[place], query));
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    return Promise.resolve({
      items: shown.flatMap((place) => this.#entries[place] ?? []),
      next: found.length > limit && last !== undefined ? String(last + this.#dropped) : undefined,
      oldestMs: this.#oldestMs,
      problems: [],
    });
  }

  pods(): Promise<HistoryPods> {
    const pods = new Map<string, HistoryPod>();
    for (const entry of this.#entries) {
      if (!("uid" in entry)) continue;
      const { uid, atMs, kind, pod } = entry;
      const [namespace = "", name = ""] = pod.split("/");
      const known = pods.get(uid);
      const goneMs = kind === "gone" ? atMs : kind === "status" ? undefined : known?.goneMs;
      pods.set(uid, {
        uid,
        namespace,
        name,
        firstSeenMs: Math.min(known?.firstSeenMs ?? atMs, atMs),
        lastSeenMs: Math.max(known?.lastSeenMs ?? atMs, atMs),
        goneMs,
        last: kind === "status" ? entry : known?.last,
      });
    }
    const items = [...pods.values()].toSorted((a, b) => b.lastSeenMs - a.lastSeenMs);
    return Promise.resolve({ items, isCut: false, oldestMs: this.#oldestMs, problems: [] });
  }

  moment(timeMs: number): Promise<StoredMoment> {
    const statuses = new Map<string, StatusEntry>();
    let node: NodeSample | undefined;
    let agent: AgentEntry | undefined;
    let newestMs: number | undefined;
    for (const entry of this.#entries) {
      if (entry.atMs > timeMs) continue;
      newestMs = Math.max(newestMs ?? entry.atMs, entry.atMs);
      if (entry.kind === "status") statuses.set(entry.uid, entry);
      else if (entry.kind === "gone") statuses.delete(entry.uid);
      else if (entry.kind === "node") node = entry;
      else if (entry.kind === "agent") agent = entry;
    }
    const pods = [...statuses.values()];
    return Promise.resolve({ pods, node, agent, newestMs, oldestMs: this.#oldestMs });
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  get #oldestMs(): number | undefined {
    return this.#entries[0]?.atMs;
  }
}

function matches(
  entry: HistoryEntry | undefined,
  { uid, kinds, sinceMs, untilMs }: HistoryQuery,
): boolean {
  if (entry === undefined) return false;
  return (
    (uid === undefined || ("uid" in entry && entry.uid === uid)) &&
    (kinds === undefined || kinds.includes(entry.kind)) &&
    (sinceMs === undefined || entry.atMs >= sinceMs) &&
    (untilMs === undefined || entry.atMs <= untilMs)
  );
}
