import { hostNetworkHostsFile, managedHostsFile } from "../../../src/core/network/hosts-file.ts";
import type { HostAlias } from "../../../src/model/generated/kubernetes.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

type HostsFileInput = { readonly hostAliases: readonly HostAlias[] | null } & (
  | {
      readonly kind: "managed";
      readonly podIPs: readonly string[] | null;
      readonly hostName: string;
      readonly hostDomain: string;
    }
  | { readonly kind: "hostNetwork"; readonly nodeHostsFile: string }
);

export const hostsFile: VectorDomain = vectorDomain<HostsFileInput>("hosts-file", (input) => {
  const aliases = input.hostAliases ?? [];
  if (input.kind === "hostNetwork") {
    return { content: hostNetworkHostsFile(input.nodeHostsFile, aliases) };
  }
  const { podIPs, hostName, hostDomain } = input;
  const names = { podIps: podIPs ?? [], hostname: hostName, domain: hostDomain };
  return { content: managedHostsFile(names, aliases) };
});
