import { parseIpAddress } from "../../lib/ip-address.ts";
import type { HostIP, PodIP, PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";

export type IpFamily = 4 | 6;

/** At most one address of each family, that of the node's primary family first. */
export function podIps(observedIps: readonly string[], primaryFamily: IpFamily): string[] {
  const ips = observedIps.map(parseIpAddress).filter((ip) => ip !== undefined);
  const primary = ips.find(({ family }) => family === primaryFamily);
  const secondary = ips.find(({ family }) => family !== primaryFamily);
  return [primary, secondary].filter((ip) => ip !== undefined).map(({ text }) => text);
}

/** The address fields of a pod's status. A pod on the host's network has the host's addresses. */
export function addressStatus(
  pod: Pod,
  ips: readonly string[],
  hostIps: readonly string[],
): Pick<PodStatus, "hostIP" | "hostIPs" | "podIP" | "podIPs"> {
  const all = pod.spec.hostNetwork === true ? hostNetworkIps(ips, hostIps) : ips;
  return {
    hostIP: hostIps[0],
    hostIPs: hostIps.length === 0 ? undefined : hostIps.map((ip): HostIP => ({ ip })),
    podIP: all[0],
    podIPs: all.length === 0 ? undefined : all.map((ip): PodIP => ({ ip })),
  };
}

/** Addresses once given stay; a node that becomes dual-stack adds its second one. */
function hostNetworkIps(ips: readonly string[], hostIps: readonly string[]): readonly string[] {
  const [first = hostIps[0], ...others] = ips;
  if (first === undefined) return [];
  const [, secondHostIp] = hostIps;
  const isSecondMissing =
    others.length === 0 &&
    secondHostIp !== undefined &&
    parseIpAddress(first)?.family !== parseIpAddress(secondHostIp)?.family;
  return isSecondMissing ? [first, secondHostIp] : [first, ...others];
}
