import type { ContainerAllocateResponse } from "../../../model/generated/device-plugin.ts";
import type { PodUid } from "../../../model/ids.ts";

/** The key of devices that are near no NUMA node. */
export const noNode = -1;

/** What a container holds of one resource. */
export interface HeldDevices {
  /** A device near several nodes is listed under each. */
  readonly idsByNode: ReadonlyMap<number, readonly string[]>;
  /** What its plugin answered: kept for restarts of the container. */
  readonly response: ContainerAllocateResponse;
  /** Why it was these; not known any more after a restart of the agent. */
  readonly because?: string | undefined;
}

export interface HeldEntry extends HeldDevices {
  readonly pod: PodUid;
  readonly container: string;
  readonly resource: string;
}

type ResourceDevices = Map<string, HeldDevices>;

/** Which containers hold which devices. */
export class PodDevices {
  readonly #pods = new Map<PodUid, Map<string, ResourceDevices>>();

  get pods(): PodUid[] {
    return [...this.#pods.keys()];
  }

  has(pod: PodUid): boolean {
    return this.#pods.has(pod);
  }

  add({ pod, container, resource, idsByNode, response, because }: HeldEntry): void {
    const containers = this.#pods.get(pod) ?? new Map<string, ResourceDevices>();
    const resources: ResourceDevices = containers.get(container) ?? new Map();
    resources.set(resource, { idsByNode, response, because });
    containers.set(container, resources);
    this.#pods.set(pod, containers);
  }

  remove(pod: PodUid): void {
    this.#pods.delete(pod);
  }

  *entries(): Generator<HeldEntry> {
    for (const [pod, containers] of this.#pods) {
      for (const [container, resources] of containers) {
        for (const [resource, held] of resources) yield { pod, container, resource, ...held };
      }
    }
  }

  /** What a container holds, by resource; undefined when it holds nothing. */
  ofContainer(pod: PodUid, container: string): ReadonlyMap<string, HeldDevices> | undefined {
    return this.#pods.get(pod)?.get(container);
  }

  /** undefined: nothing was ever allocated, which is not the same as nothing at all. */
  ids(pod: PodUid, container: string, resource: string): ReadonlySet<string> | undefined {
    const held = this.ofContainer(pod, container)?.get(resource);
    return held === undefined ? undefined : heldIds(held);
  }

  /** What all containers of a pod hold of a resource. */
  idsOfPod(pod: PodUid, resource: string): Set<string> {
    const ids = new Set<string>();
    for (const resources of this.#pods.get(pod)?.values() ?? []) {
      const held = resources.get(resource);
      if (held !== undefined) for (const id of heldIds(held)) ids.add(id);
    }
    return ids;
  }

  /** All that is held, by resource. */
  idsByResource(): Map<string, Set<string>> {
    const all = new Map<string, Set<string>>();
    for (const entry of this.entries()) {
      const ids = all.get(entry.resource) ?? new Set();
      for (const id of heldIds(entry)) ids.add(id);
      all.set(entry.resource, ids);
    }
    return all;
  }

  /** A pod that holds a device of this name, of whatever resource. */
  podWith(id: string): PodUid | undefined {
    for (const entry of this.entries()) if (heldIds(entry).has(id)) return entry.pod;
    return undefined;
  }
}

export function heldIds({ idsByNode }: HeldDevices): Set<string> {
  return new Set([...idsByNode.values()].flat());
}

/** The NUMA nodes near each device that is held; undefined for one near none. */
export function heldNodes({ idsByNode }: HeldDevices): Map<string, readonly number[] | undefined> {
  const nodes = new Map<string, readonly number[] | undefined>();
  for (const [node, ids] of [...idsByNode].toSorted(([a], [b]) => a - b)) {
    for (const id of ids) {
      nodes.set(id, node === noNode ? undefined : [...(nodes.get(id) ?? []), node]);
    }
  }
  return nodes;
}
