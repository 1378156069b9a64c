import { parseIpAddress } from "../../lib/ip-address.ts";
import type { Node } from "../../model/generated/kubernetes.ts";

/** The node's addresses as its cluster shows them; those of the machine until then. */
export function hostIpsOf(
  node: Node | undefined,
  machineIps: readonly string[],
): readonly string[] {
  const shown = nodeHostIps(node);
  return shown.length > 0 ? shown : machineIps;
}

/** The addresses of their node that pods see: the first internal one (or else external), and the first of the other family. */
export function nodeHostIps(node: Node | undefined): readonly string[] {
  const addresses = node?.status?.addresses ?? [];
  const ips = ["InternalIP", "ExternalIP"]
    .flatMap((wanted) => addresses.filter(({ type }) => type === wanted))
    .map(({ address }) => parseIpAddress(address))
    .filter((ip) => ip !== undefined);
  const [first] = ips;
  const second = ips.find(({ family }) => family !== first?.family);
  return [first, second].filter((ip) => ip !== undefined).map(({ text }) => text);
}
