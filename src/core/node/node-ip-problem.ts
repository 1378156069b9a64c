import { parseIpAddress } from "../../lib/ip-address.ts";

/** Why an address cannot be this node's; undefined when it can. */
export function nodeIpProblem(text: string, hostIps: readonly string[]): string | undefined {
  const ip = parseIpAddress(text);
  if (ip === undefined) return "nodeIP must be a valid IP address";
  const kind = specialKind(ip.text);
  if (kind !== undefined) return `nodeIP can't be ${kind} address`;
  if (hostIps.includes(ip.text)) return undefined;
  return `node IP: "${ip.text}" not found in the host's network interfaces`;
}

function specialKind(ip: string): string | undefined {
  if (ip === "::1" || ip.startsWith("127.")) return "loopback";
  if (/^(22[4-9]|23\d)\./.test(ip) || /^ff[0-9a-f]{2}:/.test(ip)) return "a multicast";
  if (ip.startsWith("169.254.") || /^fe[89ab][0-9a-f]:/.test(ip)) return "a link-local unicast";
  if (ip === "0.0.0.0" || ip === "::") return "an all zeros";
  return undefined;
}
