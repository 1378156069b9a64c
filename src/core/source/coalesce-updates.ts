import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { SourceUpdate } from "./merge-source.ts";

type Operation = SourceUpdate["op"];

interface Waiting {
  readonly source: SourceUpdate["source"];
  /** Its removal comes first, before what else is wanted. */
  removed: Pod | undefined;
  next: { readonly op: Operation; readonly pod: Pod } | undefined;
}

/**
 * The same changes in fewer updates, for a queue without a reader while the runtime is away: at most two for each pod.
 * A pod that came and went meanwhile is left out, since no reader has seen it.
 */
export function coalesceUpdates(updates: readonly SourceUpdate[]): readonly SourceUpdate[] {
  const byUid = new Map<PodUid, Waiting>();
  const sources = new Set(updates.map(({ source }) => source));
  for (const { op, source, pods } of updates) {
    for (const pod of pods) {
      const { uid } = pod.metadata;
      const waiting = byUid.get(uid) ?? { source, removed: undefined, next: undefined };
      byUid.set(uid, waiting);
      if (op === "REMOVE") {
        if (waiting.next?.op !== "ADD") waiting.removed = pod;
        waiting.next = undefined;
      } else waiting.next = { op: mergedOperation(waiting.next?.op, op), pod };
    }
  }
  const all = [...byUid.values()];
  const list = (source: SourceUpdate["source"], op: Operation): readonly Pod[] =>
    all.flatMap((waiting) => {
      if (waiting.source !== source) return [];
      if (op === "REMOVE") return waiting.removed ?? [];
      return waiting.next?.op === op ? waiting.next.pod : [];
    });
  return [...sources].flatMap((source) =>
    (["REMOVE", "ADD", "UPDATE", "DELETE", "RECONCILE"] as const)
      .map((op) => ({ op, source, pods: list(source, op) }))
      // An empty ADD still marks the source as ready.
      .filter(({ op, pods }) => pods.length > 0 || op === "ADD"),
  );
}

/** What two changes in a row amount to. */
function mergedOperation(before: Operation | undefined, after: Operation): Operation {
  if (before === "ADD" || before === undefined) return before ?? after;
  if (after === "RECONCILE") return before;
  return before === "DELETE" ? "DELETE" : after;
}
