import { deepEqual } from "../../lib/deep-equal.ts";
import { strategicMergePatch } from "../../lib/strategic-merge-patch.ts";
import type { Node } from "../../model/generated/kubernetes.ts";

const mergeKeys = { conditions: "type", addresses: "type", ownerReferences: "uid" };

/** The patch of the status (and labels and annotations) that makes one node of the other; the spec is not touched. */
export function nodeStatusPatch(before: Node, after: Node): Readonly<Record<string, unknown>> {
  const known = before.status?.addresses ?? [];
  const addresses = after.status?.addresses ?? [];
  // A node may have several addresses of a type, so they cannot be merged by type as the API would.
  const isReplaced = known.length > 0 && !deepEqual(known, addresses);
  const wanted = isReplaced
    ? { ...after.status, addresses: before.status?.addresses }
    : after.status;
  const patch =
    strategicMergePatch(
      { ...before },
      { ...after, spec: before.spec, status: wanted },
      mergeKeys,
    ) ?? {};
  if (!isReplaced) return patch;
  const status = typeof patch["status"] === "object" ? patch["status"] : {};
  return {
    ...patch,
    status: { ...status, addresses: [...addresses, { $patch: "replace" }] },
  };
}
