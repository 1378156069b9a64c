import type { HostAlias } from "../../model/generated/kubernetes.ts";

export interface HostsFileNames {
  readonly podIps: readonly string[];
  readonly hostname: string;
  /** Empty when the pod has no subdomain. */
  readonly domain: string;
}

/** The /etc/hosts of a pod with a network of its own. */
export function managedHostsFile(
  { podIps, hostname, domain }: HostsFileNames,
  aliases: readonly HostAlias[],
): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIps.map((ip) => `${ip}\t${names}`),
  ];
  return `${lines.join("\n")}\n${aliasEntries(aliases)}`;
}

/** The /etc/hosts of a pod on the host's network: the node's own file and the pod's aliases. */
export function hostNetworkHostsFile(nodeHostsFile: string, aliases: readonly HostAlias[]): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHostsFile}${aliasEntries(aliases)}`;
}

function aliasEntries(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
