import type { PatchSchema } from "./strategic-diff.ts";

const metadata: PatchSchema = { mergeKeys: { ownerReferences: "uid", finalizers: "" } };

/** How the lists of a Node merge, as far as its agent patches them. */
export const nodePatchSchema: PatchSchema = {
  fields: { metadata, status: { mergeKeys: { conditions: "type", addresses: "type" } } },
};

/** How the lists of a Pod merge, as far as its agent patches them. */
export const podPatchSchema: PatchSchema = {
  fields: {
    metadata,
    status: {
      mergeKeys: { conditions: "type", podIPs: "ip", hostIPs: "ip", resourceClaimStatuses: "name" },
    },
  },
};
