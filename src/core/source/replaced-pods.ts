import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { isStaticPod } from "../../model/pod-source.ts";

/**
 * The pods in whose place a static pod is wanted: they have its name and another UID. They were static pods too, since
 * in an API server that name is its picture's; so no source that was not heard yet can want them.
 */
export function replacedPods(
  wanted: readonly Pod[],
  found: readonly ObservedPod[],
): readonly ObservedPod[] {
  const staticPods = wanted.filter(isStaticPod);
  return found.filter(({ uid, name, namespace }) =>
    staticPods.some(
      ({ metadata }) =>
        metadata.name === name && metadata.namespace === namespace && metadata.uid !== uid,
    ),
  );
}
