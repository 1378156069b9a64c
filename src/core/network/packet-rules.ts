import type { FilterChain, FilterItem, FilterRule } from "../../model/packet-filter.ts";

const firewall = "KUBE-FIREWALL";
const hint = "KUBE-IPTABLES-HINT";

/**
 * What a kubelet keeps in the packet filter (makeIPTablesUtilChains), in the order in which it is made. The rule is word for word
 * that of kubelets and kube-proxies, so that each finds what another made.
 */
export const kubeletPacketRules: readonly FilterItem[] = [
  chain("IPv4", "filter", firewall),
  loopbackGuard(firewall, "last", "block incoming localnet connections"),
  jumpTo(firewall, "OUTPUT"),
  jumpTo(firewall, "INPUT"),
  // Nothing is in them: that they exist shows other programs which of the kernel's two filters is used.
  chain("IPv4", "mangle", hint),
  chain("IPv6", "mangle", hint),
];

/** What `berth up` keeps on a machine whose runtime is not its own; `mark` identifies the rules as its own. */
export function upPacketRules(mark: string): readonly FilterRule[] {
  return [loopbackGuard("INPUT", "first", `berth up ${mark}`)];
}

/**
 * With route_localnet, which host ports and node ports turn on, the kernel accepts loopback addresses from the network: without
 * this rule neighbours reach what listens on 127.0.0.1 only (CVE-2020-8558). IPv6 has no such setting.
 */
function loopbackGuard(
  inChain: string,
  position: FilterRule["position"],
  comment: string,
): FilterRule {
  const addresses = ["!", "-s", "127.0.0.0/8", "-d", "127.0.0.0/8"];
  const isNew = ["-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"];
  return {
    kind: "rule",
    family: "IPv4",
    table: "filter",
    chain: inChain,
    words: [...addresses, "-m", "comment", "--comment", comment, ...isNew, "-j", "DROP"],
    position,
  };
}

function jumpTo(target: string, from: string): FilterRule {
  const words = ["-j", target];
  return { kind: "rule", family: "IPv4", table: "filter", chain: from, words, position: "first" };
}

function chain(
  family: FilterChain["family"],
  table: FilterChain["table"],
  name: string,
): FilterChain {
  return { kind: "chain", family, table, chain: name };
}
