import { deepEqual } from "../../lib/deep-equal.ts";
import type { Pod } from "../../model/pod.ts";
import {
  configMirrorAnnotation,
  configSeenAnnotation,
  configSourceAnnotation,
} from "../../model/pod-source.ts";

export interface PodComparison {
  readonly change: "none" | "update" | "delete" | "reconcile";
  /** The known pod with the changes taken over. */
  readonly pod: Pod;
}

/** Annotations that the agent itself puts on a pod: they are kept and never count as a change. */
const localAnnotations = [configSourceAnnotation, configMirrorAnnotation, configSeenAnnotation];

/** What a source's new version of a pod changes in the version that is known. */
export function comparePods(existing: Pod, delivered: Pod): PodComparison {
  if (isSameSpec(existing, delivered)) {
    // Only the agent may change the status: a different one must be put right at the source.
    if (deepEqual(existing.status ?? {}, delivered.status ?? {})) {
      return { change: "none", pod: withDelivered(existing, delivered) };
    }
    return { change: "reconcile", pod: withDelivered(existing, delivered) };
  }
  const { labels, deletionTimestamp, deletionGracePeriodSeconds, generation } = delivered.metadata;
  const annotations = {
    ...delivered.metadata.annotations,
    ...pick(existing.metadata.annotations, localAnnotations),
  };
  const metadata = {
    ...existing.metadata,
    labels,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    generation,
    annotations,
  };
  return {
    change: deletionTimestamp === undefined ? "update" : "delete",
    pod: { ...existing, metadata, spec: delivered.spec, status: delivered.status },
  };
}

/** The next comparison with the same delivered pod then sees that it is the same without looking inside. */
function withDelivered(existing: Pod, { spec, status }: Pod): Pod {
  if (existing.spec === spec && existing.status === status) return existing;
  return { ...existing, spec, status };
}

function isSameSpec(existing: Pod, delivered: Pod): boolean {
  return (
    deepEqual(existing.spec, delivered.spec) &&
    deepEqual(comparedMetadata(existing), comparedMetadata(delivered))
  );
}

function comparedMetadata({ metadata }: Pod): object {
  const { labels, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => !localAnnotations.includes(key)),
  );
  return { labels, deletionTimestamp, deletionGracePeriodSeconds, annotations };
}

function pick(
  annotations: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([key]) => keys.includes(key)),
  );
}
