import { useEffect, useState } from "preact/hooks";
import type { HistoryEntry, HistoryPage } from "../../src/ports/history.ts";
import type { Failure } from "../api/failure.ts";
import { usePage } from "../hooks.ts";

/** Answers have at most so many entries. */
const limit = 1000;
/** A day of samples has two answers; more is too much to draw. */
const maxAnswers = 4;

export interface Entries {
  /** Newest first. */
  readonly items: readonly HistoryEntry[];
  readonly isRead: boolean;
  readonly failure?: Failure | undefined;
}

/** What history has for a query of `/berth/v1/history/entries`. What was read for the last query stays until then. */
export function useEntries(query: string): Entries {
  const { client } = usePage();
  const [entries, setEntries] = useState<Entries>({ items: [], isRead: false });
  useEffect(() => {
    const end = new AbortController();
    const readAll = async (): Promise<void> => {
      const items: HistoryEntry[] = [];
      let before = "";
      for (let answers = 0; answers < maxAnswers; answers++) {
        const path = `/berth/v1/history/entries?limit=${limit}&${query}${before}`;
        const answer = await client.get<HistoryPage>(path, end.signal);
        if (!answer.ok) {
          setEntries((last) => ({ ...last, failure: answer.error }));
          return;
        }
        items.push(...answer.value.items);
        if (answer.value.next === undefined) break;
        before = `&before=${answer.value.next}`;
      }
      setEntries({ items, isRead: true });
    };
    // Rejects only when it is ended.
    readAll().catch(() => undefined);
    return () => end.abort();
  }, [client, query]);
  return entries;
}
