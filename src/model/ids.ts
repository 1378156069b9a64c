// Ids that look alike and must not be mixed up. Each is made where it comes in: manifests, the API server, the CRI,
// labels, checkpoints, paths of requests.

declare const brand: unique symbol;

/** A pod's UID: given by the API server, or computed from a static pod's manifest. */
export type PodUid = string & { readonly [brand]: "PodUid" };

export function podUid(text: string): PodUid {
  return text as PodUid;
}

/** A container's id as statuses show it, led by the runtime's name: "containerd://0123". */
export type ContainerId = string & { readonly [brand]: "ContainerId" };

/** The runtime's own id of a container: 0123. */
export type RuntimeContainerId = string & { readonly [brand]: "RuntimeContainerId" };

export function containerId(text: string): ContainerId {
  return text as ContainerId;
}

export function runtimeContainerId(text: string): RuntimeContainerId {
  return text as RuntimeContainerId;
}

/** The runtime's own part of an id: "containerd://0123" is 0123. */
export function rawContainerId(id: ContainerId): RuntimeContainerId {
  const scheme = id.indexOf("://");
  return runtimeContainerId(scheme < 0 ? id : id.slice(scheme + 3));
}
