import { podDnsConfig } from "../../../src/core/network/dns-config.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface DnsConfigInput {
  readonly pod: Pod;
  readonly clusterDNS: readonly string[] | null;
  readonly clusterDomain: string;
  readonly nodeIPs: readonly string[] | null;
  readonly resolverConfig: string | null;
}

export const dnsConfig: VectorDomain = vectorDomain<DnsConfigInput>(
  "dns-config",
  ({ pod, clusterDNS, clusterDomain, nodeIPs, resolverConfig }) => {
    const result = podDnsConfig(pod, {
      clusterDns: clusterDNS ?? [],
      clusterDomain,
      nodeIps: nodeIPs ?? [],
      resolverConfig: resolverConfig ?? undefined,
    });
    if (!result.ok) return { error: result.error };
    const { config, events } = result.value;
    return {
      servers: config.servers,
      searches: config.searches,
      options: config.options.toSorted(),
      events: events.map(({ reason, message }) => `Warning ${reason} ${message}`),
    };
  },
);
