import { quoteText } from "../../lib/go-text.ts";
import { parseIpAddress } from "../../lib/ip-address.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodDNSConfig, PodDNSConfigOption } from "../../model/generated/kubernetes.ts";
import { subdomainMaxLength } from "../../model/name-format.ts";
import type { Pod } from "../../model/pod.ts";
import {
  maxNameservers,
  maxSearchLineLength,
  maxSearchPaths,
  parseResolverConfig,
  type ResolverConfig,
} from "./resolver-config.ts";

export interface NodeDns {
  readonly clusterDns: readonly string[];
  /** Empty when the cluster has none. */
  readonly clusterDomain: string;
  readonly nodeIps: readonly string[];
  /** The text of the node's resolv.conf; undefined when the node is configured to have none. */
  readonly resolverConfig: string | undefined;
}

/** A warning for the pod or for the node. */
interface DnsEvent {
  readonly about: "pod" | "node";
  readonly reason: "MissingClusterDNS" | "DNSConfigForming";
  readonly message: string;
}

export interface PodDns {
  readonly config: ResolverConfig;
  readonly events: readonly DnsEvent[];
}

const emptyConfig: ResolverConfig = { servers: [], searches: [], options: [] };

/** The resolver settings of a pod by its DNS policy, with what its spec adds, cut to what resolvers take. */
export function podDnsConfig(pod: Pod, node: NodeDns): Result<PodDns, string> {
  const host = hostConfig(node);
  if (!host.ok) return host;
  const { config, events } = policyConfig(pod, node, host.value);
  const wanted =
    pod.spec.dnsConfig === undefined ? config : withPodConfig(config, pod.spec.dnsConfig);
  const fitted = fitLimits(wanted);
  return ok({ config: fitted.config, events: [...events, ...fitted.events] });
}

function hostConfig({ resolverConfig }: NodeDns): Result<ResolverConfig, string> {
  if (resolverConfig === undefined) return ok(emptyConfig);
  const parsed = parseResolverConfig(resolverConfig);
  if (parsed.ok) return parsed;
  return err(`Encountered error while parsing resolv conf file. Error: ${parsed.error}`);
}

function policyConfig(pod: Pod, node: NodeDns, host: ResolverConfig): PodDns {
  const { dnsPolicy, hostNetwork } = pod.spec;
  if (dnsPolicy === "None") return { config: emptyConfig, events: [] };
  const isHosts = dnsPolicy === "Default" || (dnsPolicy === "ClusterFirst" && hostNetwork === true);
  if (isHosts) return { config: nodeConfig(node, host), events: [] };
  if (node.clusterDns.length > 0) return { config: clusterConfig(pod, node, host), events: [] };
  return { config: nodeConfig(node, host), events: missingClusterDns(pod) };
}

function clusterConfig(pod: Pod, node: NodeDns, host: ResolverConfig): ResolverConfig {
  const { clusterDns, clusterDomain } = node;
  const service = `svc.${clusterDomain}`;
  return {
    servers: clusterDns.map((ip) => parseIpAddress(ip)?.text ?? ip),
    searches:
      clusterDomain === ""
        ? host.searches
        : unique([
            `${pod.metadata.namespace}.${service}`,
            service,
            clusterDomain,
            ...host.searches,
          ]),
    options: ["ndots:5"],
  };
}

/** Without a resolv.conf a pod asks its own loopback address, which turns look-ups off. */
function nodeConfig({ nodeIps, resolverConfig }: NodeDns, host: ResolverConfig): ResolverConfig {
  if (resolverConfig !== undefined) return host;
  const loopbacks = nodeIps.map((ip) => (parseIpAddress(ip)?.family === 6 ? "::1" : "127.0.0.1"));
  return {
    servers: loopbacks.length === 0 ? ["127.0.0.1"] : loopbacks,
    searches: ["."],
    options: host.options,
  };
}

function missingClusterDns(pod: Pod): DnsEvent[] {
  const { name, namespace, uid } = pod.metadata;
  const message =
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
  const podText = quoteText(`${name}_${namespace}(${uid ?? ""})`);
  return [
    { about: "node", reason: "MissingClusterDNS", message },
    { about: "pod", reason: "MissingClusterDNS", message: `pod: ${podText}. ${message}` },
  ];
}

function withPodConfig(config: ResolverConfig, wanted: PodDNSConfig): ResolverConfig {
  return {
    servers: unique([...config.servers, ...(wanted.nameservers ?? [])]),
    searches: unique([...config.searches, ...(wanted.searches ?? [])]),
    options: mergeOptions(config.options, wanted.options ?? []),
  };
}

function mergeOptions(present: readonly string[], wanted: readonly PodDNSConfigOption[]): string[] {
  const values = new Map<string, string>();
  for (const option of present) {
    const colon = option.indexOf(":");
    if (colon === -1) values.set(option, "");
    else values.set(option.slice(0, colon), option.slice(colon + 1));
  }
  for (const { name = "", value = "" } of wanted) values.set(name, value);
  return [...values].map(([name, value]) => (value === "" ? name : `${name}:${value}`));
}

function fitLimits(config: ResolverConfig): PodDns {
  const servers = config.servers.slice(0, maxNameservers);
  const searches = fitSearchLine(
    config.searches
      .slice(0, maxSearchPaths)
      // Some resolvers abort on a longer path.
      .filter((search) => search.length <= subdomainMaxLength),
  );
  const events: DnsEvent[] = [];
  if (servers.length < config.servers.length) {
    events.push(cutEvent("Nameserver limits", "nameservers", "nameserver", servers));
  }
  if (searches.length < config.searches.length) {
    events.push(cutEvent("Search Line limits", "search paths", "search", searches));
  }
  return { config: { ...config, servers, searches }, events };
}

function fitSearchLine(searches: readonly string[]): readonly string[] {
  let fitting = searches;
  while (fitting.join(" ").length > maxSearchLineLength) fitting = fitting.slice(0, -1);
  return fitting;
}

function cutEvent(
  limits: string,
  omitted: string,
  line: string,
  applied: readonly string[],
): DnsEvent {
  return {
    about: "pod",
    reason: "DNSConfigForming",
    message: `${limits} were exceeded, some ${omitted} have been omitted, the applied ${line} line is: ${applied.join(" ")}`,
  };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
