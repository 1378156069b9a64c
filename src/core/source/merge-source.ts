import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { formatTimeNano } from "../../lib/time.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podDisplayName, podFullName } from "../../model/pod.ts";
import {
  configSeenAnnotation,
  configSourceAnnotation,
  type PodSourceName,
} from "../../model/pod-source.ts";
import { comparePods } from "./compare-pods.ts";

/** What became of some pods of one source. DELETE asks for a graceful end; REMOVE says that they are gone. */
export interface SourceUpdate {
  readonly op: "ADD" | "UPDATE" | "DELETE" | "REMOVE" | "RECONCILE";
  readonly source: PodSourceName;
  readonly pods: readonly Pod[];
}

interface RejectedPod {
  readonly pod: Pod;
  readonly message: string;
}

/** All pods that one source wants at one moment. */
export interface SourceSet {
  readonly source: PodSourceName;
  readonly pods: readonly Pod[];
}

/** What a source wants, by UID; its next set is compared with it. */
export interface KnownPods {
  readonly pods: ReadonlyMap<PodUid, Pod>;
  /** As they came: the same object again asks for nothing new. */
  readonly delivered: ReadonlyMap<PodUid, Pod>;
}

export interface MergedSource extends KnownPods {
  /** In the order in which they must be handled. */
  readonly updates: readonly SourceUpdate[];
  readonly rejected: readonly RejectedPod[];
}

/** Compares a source's new set with what it wanted before (undefined = it has not delivered yet). */
export function mergeSource(
  before: KnownPods | undefined,
  { source, pods }: SourceSet,
  nowMs: number,
): MergedSource {
  const { unique, rejected: duplicates } = rejectDuplicates(source, pods);
  const rejected = [...duplicates];
  const merged = new Map<PodUid, Pod>();
  const last = new Map<PodUid, Pod>();
  const added: Pod[] = [];
  const changed = {
    update: new Array<PodUid>(),
    delete: new Array<PodUid>(),
    reconcile: new Array<PodUid>(),
  };
  for (const delivered of unique) {
    const { uid } = delivered.metadata;
    const known = before?.pods.get(uid);
    // The same UID may come twice in one set: the second one changes what the first one left.
    const existing = known && (merged.get(uid) ?? known);
    const isRepeated = existing === known && before?.delivered.get(uid) === delivered;
    last.set(uid, delivered);
    if (existing !== undefined && isRepeated) {
      merged.set(uid, existing);
      continue;
    }
    const pod = annotate(delivered, { [configSourceAnnotation]: source });
    if (existing === undefined) {
      const seen = annotate(pod, { [configSeenAnnotation]: formatTimeNano(nowMs) });
      merged.set(uid, seen);
      added.push(seen);
      continue;
    }
    try {
      const comparison = comparePods(existing, pod);
      merged.set(uid, comparison.pod);
      if (comparison.change !== "none") changed[comparison.change].push(uid);
    } catch (error) {
      // One that cannot be compared stays as it was; what else the source wants is not held up.
      merged.set(uid, existing);
      const message = `cannot compare pod ${podDisplayName(pod)} from ${source} with its last version, ignoring: ${errorText(error)}`;
      rejected.push({ pod, message });
    }
  }
  const removed = [...(before?.pods ?? [])]
    .filter(([uid]) => !merged.has(uid))
    .map(([, pod]) => pod);
  const final = (uids: readonly PodUid[]) => uids.flatMap((uid) => merged.get(uid) ?? []);
  const signalReady =
    before === undefined &&
    [added, changed.update, changed.delete].every(({ length }) => length === 0);
  const updates: SourceUpdate[] = [
    { op: "REMOVE", source, pods: removed },
    { op: "ADD", source, pods: added },
    { op: "UPDATE", source, pods: final(changed.update) },
    { op: "DELETE", source, pods: final(changed.delete) },
    { op: "RECONCILE", source, pods: final(changed.reconcile) },
  ];
  // An empty first set still marks the source as ready.
  const sent = updates.filter(({ op, pods }) => pods.length > 0 || (op === "ADD" && signalReady));
  return { pods: merged, delivered: last, updates: sent, rejected };
}

function rejectDuplicates(
  source: PodSourceName,
  pods: readonly Pod[],
): { readonly unique: readonly Pod[]; readonly rejected: readonly RejectedPod[] } {
  const names = new Set<string>();
  const unique: Pod[] = [];
  const rejected: RejectedPod[] = [];
  for (const pod of pods) {
    const fullName = podFullName(pod);
    if (names.has(fullName)) {
      const name = quoteText(pod.metadata.name);
      const message = `Error validating pod ${podDisplayName(pod)} from ${source} due to duplicate pod name ${name}, ignoring`;
      rejected.push({ pod, message });
      continue;
    }
    names.add(fullName);
    unique.push(pod);
  }
  return { unique, rejected };
}

function annotate(pod: Pod, more: Readonly<Record<string, string>>): Pod {
  const annotations = { ...pod.metadata.annotations, ...more };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
