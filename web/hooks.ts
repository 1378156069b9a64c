// How views read what the page knows.
import { type Context, createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Pod } from "../src/model/pod.ts";
import type { Failure } from "./api/failure.ts";
import { sleep } from "./lib/sleep.ts";
import type { Store } from "./lib/store.ts";
import type { PageState } from "./state.ts";

export const PageContext: Context<PageState | undefined> = createContext<PageState | undefined>(
  undefined,
);

export function usePage(): PageState {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("there is no page around this view");
  return page;
}

/** The value of a store, now and after every change. */
export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState({});
  const { value } = store;
  useLayoutEffect(() => {
    // It may have changed since it was drawn.
    if (store.value !== value) redraw({});
    return store.subscribe(() => redraw({}));
  }, [store, value]);
  return value;
}

/** The chosen time in milliseconds since 1970; undefined = live. */
export function useAtMs(): number | undefined {
  return useStore(usePage().place).atMs;
}

/** The agent's time, which goes on while the view is shown. */
export function useNowMs(periodMs = 1000): number {
  const page = usePage();
  const [nowMs, setNowMs] = useState(() => page.nowMs());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(page.nowMs()), periodMs);
    return () => clearInterval(timer);
  }, [page, periodMs]);
  return nowMs;
}

/** The live pod of that name; undefined while there is none. */
export function useLivePod(namespace: string, name: string): Pod | undefined {
  const { byUid } = useStore(usePage().pods);
  for (const pod of byUid.values()) {
    if (pod.metadata.namespace === namespace && pod.metadata.name === name) return pod;
  }
  return undefined;
}

/** What was read last. `failure` is that of the last attempt: an older value stays while the agent does not answer. */
export interface Read<T> {
  readonly value?: T | undefined;
  readonly failure?: Failure | undefined;
}

/**
 * The object at a path, read again each `periodMs` (undefined = once for each path) while somebody looks at the page, and at
 * once when `version` changes. No path: nothing is read.
 */
export function useRead<T>(
  path: string | undefined,
  {
    periodMs,
    version,
  }: { readonly periodMs?: number | undefined; readonly version?: unknown } = {},
): Read<T> {
  const { client } = usePage();
  const [read, setRead] = useState<Read<T> & { readonly path?: string | undefined }>({});
  useEffect(() => {
    if (path === undefined) return undefined;
    const end = new AbortController();
    const { signal } = end;
    const readOn = async (): Promise<void> => {
      while (!signal.aborted) {
        await untilVisible(signal);
        const answer = await client.get<T>(path, signal);
        setRead((last) =>
          answer.ok
            ? { path, value: answer.value }
            : { path, value: last.path === path ? last.value : undefined, failure: answer.error },
        );
        if (answer.ok && periodMs === undefined) return;
        await sleep(periodMs ?? 2_000, signal);
      }
    };
    // Rejects only when it is ended.
    readOn().catch(() => undefined);
    return () => end.abort();
  }, [client, path, periodMs, version]);
  return read.path === path ? read : {};
}

/** Resolves when the page can be seen, or `signal` aborts. */
async function untilVisible(signal: AbortSignal): Promise<void> {
  while (document.hidden && !signal.aborted) {
    await new Promise<void>((resolve) => {
      const options = { once: true };
      document.addEventListener("visibilitychange", () => resolve(), options);
      signal.addEventListener("abort", () => resolve(), options);
    });
  }
}
