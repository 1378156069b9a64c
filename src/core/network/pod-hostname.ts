import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { trimEndOf } from "../../lib/trim-text.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../../model/name-format.ts";
import type { Pod } from "../../model/pod.ts";

const hostnameMaxLength = 63;
const kernelNameMaxLength = 64;

export interface PodHostname {
  readonly hostname: string;
  /** Empty when the pod has no subdomain. */
  readonly domain: string;
}

/** The names a pod has on its network; its own name where the spec gives none. */
export function podHostname(pod: Pod, clusterDomain: string): Result<PodHostname, string> {
  const { hostnameOverride, hostname: wanted = "", subdomain = "" } = pod.spec;
  if (hostnameOverride !== undefined) return overriddenHostname(pod, hostnameOverride);
  if (wanted !== "") {
    const problems = dnsLabelProblems(wanted);
    if (problems.length > 0) {
      return err(
        `pod Hostname ${quoteText(wanted)} is not a valid DNS label: ${problems.join(";")}`,
      );
    }
  }
  const hostname = truncate(pod, wanted === "" ? pod.metadata.name : wanted);
  if (!hostname.ok) return hostname;
  if (subdomain === "") return ok({ hostname: hostname.value, domain: "" });
  const problems = dnsLabelProblems(subdomain);
  if (problems.length > 0) {
    return err(
      `pod Subdomain ${quoteText(subdomain)} is not a valid DNS label: ${problems.join(";")}`,
    );
  }
  const domain = `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}`;
  return ok({ hostname: hostname.value, domain });
}

/** What the kernel of the pod answers as its name: the full name where the spec asks for it. */
export function kernelHostname(
  { hostname, domain }: PodHostname,
  setHostnameAsFqdn: boolean,
): Result<string, string> {
  if (domain === "" || !setHostnameAsFqdn) return ok(hostname);
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= kernelNameMaxLength) return ok(fqdn);
  return err(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${kernelNameMaxLength} characters is the max, ${fqdn.length} characters requested)`,
  );
}

function overriddenHostname(pod: Pod, override: string): Result<PodHostname, string> {
  const problems = dnsSubdomainProblems(override);
  if (problems.length > 0) {
    return err(
      `pod HostnameOverride ${quoteText(override)} is not a valid DNS subdomain: ${problems.join(";")}`,
    );
  }
  const hostname = truncate(pod, override);
  return hostname.ok ? ok({ hostname: hostname.value, domain: "" }) : hostname;
}

function truncate(pod: Pod, hostname: string): Result<string, string> {
  if (hostname.length <= hostnameMaxLength) return ok(hostname);
  const truncated = trimEndOf(hostname.slice(0, hostnameMaxLength), "-.");
  if (truncated !== "") return ok(truncated);
  return err(
    `hostname for pod ${quoteText(pod.metadata.name)} was invalid: ${quoteText(hostname)}`,
  );
}
