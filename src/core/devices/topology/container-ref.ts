import type { Pod } from "../../../model/pod.ts";

/** A container by its name in its pod, whatever ID the runtime gave it. */
export interface ContainerRef {
  readonly podUid: string;
  readonly container: string;
}

export function isSameContainer(a: ContainerRef, b: ContainerRef): boolean {
  return a.podUid === b.podUid && a.container === b.container;
}

/** Which containers are not in any of these pods. */
export function staleContainers(activePods: readonly Pod[]): (ref: ContainerRef) => boolean {
  const active = new Map<string, ReadonlySet<string>>(
    activePods.map(({ metadata, spec }) => [
      metadata.uid,
      new Set([...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)),
    ]),
  );
  return ({ podUid, container }) => active.get(podUid)?.has(container) !== true;
}
