export type IpFamily = "IPv4" | "IPv6";

interface FilterPlace {
  readonly family: IpFamily;
  readonly table: "filter" | "mangle";
  readonly chain: string;
}

/** A chain of the kernel's packet filter. */
export interface FilterChain extends FilterPlace {
  readonly kind: "chain";
}

/** A rule in a chain, in the words of iptables. */
export interface FilterRule extends FilterPlace {
  readonly kind: "rule";
  readonly words: readonly string[];
  /** Where it goes when it is missing. */
  readonly position: "first" | "last";
}

export type FilterItem = FilterChain | FilterRule;
