// Ids that look alike and must not be mixed up. Each is made where it comes in: manifests, the API server, the CRI,
// labels, checkpoints, paths of requests.

declare const brand: unique symbol;

/** A pod's UID: given by the API server, or computed from a static pod's manifest. */
export type PodUid = string & { readonly [brand]: "PodUid" };

export function podUid(text: string): PodUid {
  return text as PodUid;
}
