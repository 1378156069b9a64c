import type { Node } from "../../model/generated/kubernetes.ts";

/** The addresses that pods are told of their node: the first internal one (or else external), and the first of the other family. */
export function nodeHostIps(node: Node | undefined): readonly string[] {
  const addresses = node?.status?.addresses ?? [];
  const ips = ["InternalIP", "ExternalIP"].flatMap((wanted) =>
    addresses.filter(({ type }) => type === wanted).map(({ address }) => address),
  );
  const [first] = ips;
  if (first === undefined) return [];
  const other = ips.find((ip) => ip.includes(":") !== first.includes(":"));
  return other === undefined ? [first] : [first, other];
}
