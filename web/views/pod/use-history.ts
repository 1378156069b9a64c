import { useEffect, useMemo, useState } from "preact/hooks";
import type { HistoryEntry, HistoryPage } from "../../../src/ports/history.ts";
import type { ApiClient } from "../../api/client.ts";
import type { Failure } from "../../api/failure.ts";
import { usePage } from "../../hooks.ts";
import { sleep } from "../../lib/sleep.ts";

const pageSize = 1000;
/** So many are read by themselves; the user may ask for more. */
const firstPages = 4;
const periodMs = 1_500;
/** A sync is noted when it has ended, with the time at which it began. */
const overlapMs = 600_000;

export interface PodHistory {
  readonly entries: readonly HistoryEntry[];
  readonly isRead: boolean;
  /** There are older ones, which were not read. */
  readonly hasOlder: boolean;
  readonly failure?: Failure | undefined;
  readonly readOlder: () => void;
}

interface Known {
  readonly uid: string;
  readonly entries: ReadonlyMap<string, HistoryEntry>;
  readonly next?: string | undefined;
  readonly isRead: boolean;
  readonly failure?: Failure | undefined;
}

/** What history has of a pod, up to a time or live, and when the agent ran. */
export function useHistory(uid: string | undefined, untilMs: number | undefined): PodHistory {
  const { client } = usePage();
  const [pages, setPages] = useState(firstPages);
  const [known, setKnown] = useState<Known>({ uid: "", entries: new Map(), isRead: false });
  useEffect(() => {
    if (uid === undefined) return undefined;
    const end = new AbortController();
    follow({ client, uid, untilMs, pages }, setKnown, end.signal).catch(() => undefined);
    return () => end.abort();
  }, [client, uid, untilMs, pages]);
  const current = known.uid === uid ? known : undefined;
  const map = current?.entries;
  const entries = useMemo(() => [...(map?.values() ?? [])], [map]);
  return {
    entries,
    isRead: current?.isRead ?? false,
    hasOlder: current?.next !== undefined,
    failure: current?.failure,
    readOlder: () => setPages(pages + firstPages),
  };
}

interface Followed {
  readonly client: ApiClient;
  readonly uid: string;
  readonly untilMs: number | undefined;
  readonly pages: number;
}

async function follow(
  { client, uid, untilMs, pages }: Followed,
  show: (known: Known) => void,
  signal: AbortSignal,
): Promise<void> {
  const entries = new Map<string, HistoryEntry>();
  let newestMs = 0;
  const read = async (query: Readonly<Record<string, string>>): Promise<HistoryPage | Failure> => {
    const until = untilMs === undefined ? {} : { until: String(untilMs) };
    const parameters = new URLSearchParams({ limit: String(pageSize), ...until, ...query });
    const answer = await client.get<HistoryPage>(
      `/berth/v1/history/entries?${parameters.toString()}`,
      signal,
    );
    if (!answer.ok) return answer.error;
    for (const entry of answer.value.items) {
      entries.set(JSON.stringify(entry), entry);
      newestMs = Math.max(newestMs, entry.atMs);
    }
    return answer.value;
  };
  let before: string | undefined;
  let failure: Failure | undefined;
  for (let page = 0; page < pages; page++) {
    const answer = await read({ uid, ...(before === undefined ? {} : { before }) });
    if ("kind" in answer) {
      failure = answer;
      break;
    }
    before = answer.next;
    show({ uid, entries: new Map(entries), next: before, isRead: true });
    if (before === undefined) break;
  }
  await read({ kinds: "agent" });
  show({ uid, entries: new Map(entries), next: before, isRead: true, failure });
  if (untilMs !== undefined) return;
  while (!signal.aborted) {
    await sleep(periodMs, signal);
    if (document.hidden) continue;
    const count = entries.size;
    const answer = await read({ uid, since: String(Math.max(0, newestMs - overlapMs)) });
    const failed = "kind" in answer ? answer : undefined;
    if (entries.size !== count || failed?.kind !== failure?.kind) {
      failure = failed;
      show({ uid, entries: new Map(entries), next: before, isRead: true, failure });
    }
  }
}
