import type { Pod } from "../../../src/model/pod.ts";
import type { HistoryMoment, HistoryPods, StatusEntry } from "../../../src/ports/history.ts";
import { useAtMs, useLivePod, useRead } from "../../hooks.ts";

/** The pod that a view is about: as it is, as it was, or as it was last seen. */
export interface Subject {
  /** Whether it is known what there is. */
  readonly isKnown: boolean;
  readonly uid?: string | undefined;
  /** As it is now; undefined in the past, and when it is gone. */
  readonly live?: Pod | undefined;
  /** As history has it. */
  readonly status?: StatusEntry | undefined;
  readonly goneMs?: number | undefined;
}

export function useSubject(namespace: string, name: string): Subject {
  const atMs = useAtMs();
  const live = useLivePod(namespace, name);
  const key = `${namespace}/${name}`;
  const past = useRead<HistoryMoment>(
    atMs === undefined ? undefined : `/berth/v1/history/at?time=${atMs}`,
  );
  const isMissed = atMs === undefined ? live === undefined : past.value !== undefined;
  const known = useRead<HistoryPods>(isMissed ? "/berth/v1/history/pods" : undefined, {
    periodMs: 10_000,
  });
  if (atMs !== undefined) {
    const status = past.value?.pods.find(({ pod }) => pod === key);
    const isKnown = past.value !== undefined || past.failure !== undefined;
    return { isKnown, uid: status?.uid, status };
  }
  if (live !== undefined) return { isKnown: true, uid: live.metadata.uid, live };
  const gone = known.value?.items.find((pod) => pod.namespace === namespace && pod.name === name);
  const isKnown = known.value !== undefined || known.failure !== undefined;
  return { isKnown, uid: gone?.uid, status: gone?.last, goneMs: gone?.goneMs };
}
