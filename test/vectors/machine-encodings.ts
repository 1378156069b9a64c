// The machine as the vectors of devices encode it: cAdvisor's JSON, absent is zero.
import type { ResourceHints, TopologyHint } from "../../src/core/devices/topology/hints.ts";
import type { MachineTopology, NumaNode } from "../../src/model/machine-topology.ts";

export interface EncodedNode {
  readonly node_id?: number;
  readonly memory?: number;
  readonly hugepages?: readonly { readonly page_size?: number; readonly num_pages?: number }[];
  readonly cores?: readonly {
    readonly thread_ids?: readonly number[];
    readonly socket_id?: number;
    readonly uncore_caches?: readonly { readonly id?: number }[];
  }[];
  readonly distances?: readonly number[];
}

export interface EncodedMachine {
  readonly num_cores?: number;
  readonly num_sockets?: number;
  readonly topology?: readonly EncodedNode[];
}

export function machineTopology(machine: EncodedMachine): MachineTopology {
  return {
    cpuCount: machine.num_cores ?? 0,
    socketCount: machine.num_sockets ?? 0,
    numaNodes: numaNodes(machine.topology ?? []),
  };
}

export function numaNodes(nodes: readonly EncodedNode[]): NumaNode[] {
  return nodes.map((node) => ({
    id: node.node_id ?? 0,
    memoryBytes: BigInt(node.memory ?? 0),
    hugePages: (node.hugepages ?? []).map((pages) => ({
      pageSizeKb: pages.page_size ?? 0,
      count: pages.num_pages ?? 0,
    })),
    cores: (node.cores ?? []).map((core) => ({
      socket: core.socket_id ?? 0,
      cpus: core.thread_ids ?? [],
      uncoreCaches: (core.uncore_caches ?? []).map(({ id }) => id ?? 0),
    })),
    ...(node.distances === undefined ? {} : { distances: node.distances }),
  }));
}

export interface EncodedHint {
  readonly nodes: readonly number[] | null;
  readonly preferred: boolean;
}

export type EncodedHints = Readonly<Record<string, readonly EncodedHint[] | null>>;

export function decodeHint({ nodes, preferred }: EncodedHint): TopologyHint {
  return { nodes: nodes ?? undefined, preferred };
}

export function decodeHints(hints: EncodedHints | null | undefined): ResourceHints | undefined {
  if (hints === null || hints === undefined) return undefined;
  return new Map(
    Object.entries(hints).map(([resource, list]) => [resource, list?.map(decodeHint)]),
  );
}

export function encodeHint({ nodes, preferred }: TopologyHint): EncodedHint {
  return { nodes: nodes ?? null, preferred };
}

/** A map that is absent, a list that is null and an empty list mean different things here. */
export function encodeHints(hints: ResourceHints | undefined): EncodedHints | null {
  if (hints === undefined) return null;
  return Object.fromEntries(
    Array.from(hints, ([resource, list]) => [resource, list?.map(encodeHint) ?? null]),
  );
}

/** For the comparison of hints: the difference between null and an empty list is written out. */
export function explicitHints(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(explicitHints);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]: [string, unknown]) => [
      key,
      key === "hints" ? explicitLists(field) : explicitHints(field),
    ]),
  );
}

function explicitLists(hints: unknown): unknown {
  if (typeof hints !== "object" || hints === null) return "no preference";
  return Object.fromEntries(
    Object.entries(hints).map(([resource, list]: [string, unknown]) => {
      if (!Array.isArray(list)) return [resource, "no preference"];
      return [resource, list.length === 0 ? "cannot be satisfied" : list];
    }),
  );
}

/** JSON errors are worded by Go's decoder: that there is one is compared. */
export function withoutJsonErrors(value: unknown): unknown {
  if (typeof value === "string") {
    return value.replace(
      /(checkpoint: )(?:json: .*?|unexpected end .*?|invalid character .*?)(, please drain)/,
      "$1<JSON error>$2",
    );
  }
  if (Array.isArray(value)) return value.map(withoutJsonErrors);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]: [string, unknown]) => [key, withoutJsonErrors(field)]),
  );
}
