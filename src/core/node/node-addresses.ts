import { parseIpAddress } from "../../lib/ip-address.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Node, NodeAddress } from "../../model/generated/kubernetes.ts";

const providedIpAnnotation = "alpha.kubernetes.io/provided-node-ip";

export interface NodeAddressSettings {
  /** What --node-ip says, in canonical form: at most two. */
  readonly nodeIps: readonly string[];
  readonly hostname: string;
  readonly externalCloudProvider: boolean;
}

/** What the machine's network says of addresses. */
export interface NodeAddressFacts {
  /** Why an address cannot be the node's; undefined when it can. */
  readonly nodeIpProblem: (ip: string) => string | undefined;
  /** What the name service says of the node's name; asked only where needed. */
  readonly namedIps: readonly string[];
  /** The address that the default route uses, of the family that is wanted. */
  readonly defaultIp: Result<string, string>;
}

/** A node's addresses and their annotations; the annotations even where the addresses are unknown. */
export interface NodeAddressesResult {
  readonly annotations: Readonly<Record<string, string>> | undefined;
  /** Undefined: they stay as they are. */
  readonly addresses: readonly NodeAddress[] | undefined;
  readonly problem?: string | undefined;
}

/** Whether the name service and the default route have a say in the node's address. */
export function needsAddressLookup({ nodeIps, hostname }: NodeAddressSettings): boolean {
  const [first] = nodeIps;
  return !isSpecified(first) && parseIpAddress(hostname) === undefined;
}

/** The addresses of a node by its settings and its machine's network. */
export function nodeAddresses(
  node: Node,
  settings: NodeAddressSettings,
  facts: NodeAddressFacts,
): NodeAddressesResult {
  const { externalCloudProvider, hostname } = settings;
  const invalid = invalidNodeIp(settings, facts);
  if (invalid !== undefined) {
    return { annotations: node.metadata?.annotations, addresses: undefined, problem: invalid };
  }
  const annotations = annotationsOf(node, settings);
  if (externalCloudProvider) {
    // What the cloud provider has set is not touched.
    if ((node.status?.addresses ?? []).length > 0) return { annotations, addresses: undefined };
    if (settings.nodeIps.length === 0) {
      return { annotations, addresses: [{ type: "Hostname", address: hostname }] };
    }
  }
  const ips = internalIps(node.metadata?.name ?? "", settings, facts);
  if (!ips.ok) return { annotations, addresses: undefined, problem: ips.error };
  return {
    annotations,
    addresses: [
      ...ips.value.map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: hostname },
    ],
  };
}

function invalidNodeIp(
  { nodeIps: [first, second] }: NodeAddressSettings,
  { nodeIpProblem }: NodeAddressFacts,
): string | undefined {
  const problem = isSpecified(first) ? nodeIpProblem(first) : undefined;
  if (problem !== undefined) return `failed to validate nodeIP: ${problem}`;
  const secondProblem = isSpecified(second) ? nodeIpProblem(second) : undefined;
  return secondProblem && `failed to validate secondaryNodeIP: ${secondProblem}`;
}

function annotationsOf(
  node: Node,
  { nodeIps: [first, second], externalCloudProvider }: NodeAddressSettings,
): Readonly<Record<string, string>> | undefined {
  const annotations = node.metadata?.annotations;
  if (externalCloudProvider && isSpecified(first)) {
    const provided = isSpecified(second) ? `${first},${second}` : first;
    return { ...annotations, [providedIpAnnotation]: provided };
  }
  if (annotations?.[providedIpAnnotation] === undefined) return annotations;
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => name !== providedIpAnnotation),
  );
}

function internalIps(
  nodeName: string,
  { nodeIps: [first, second], hostname }: NodeAddressSettings,
  facts: NodeAddressFacts,
): Result<readonly string[], string> {
  if (isSpecified(first)) return ok(isSpecified(second) ? [first, second] : [first]);
  const literal = parseIpAddress(hostname);
  if (literal !== undefined) return ok([literal.text]);
  const usable = facts.namedIps.filter((ip) => facts.nodeIpProblem(ip) === undefined);
  const prefersIpv4 = first === undefined || parseIpAddress(first)?.family === 4;
  const named =
    usable.find((ip) => (parseIpAddress(ip)?.family === 4) === prefersIpv4) ?? usable[0];
  if (named !== undefined) return ok([named]);
  if (facts.defaultIp.ok) return ok([facts.defaultIp.value]);
  return err(`can't get ip address of node ${nodeName}. error: ${facts.defaultIp.error}`);
}

/** Given, and more than a family (0.0.0.0 and :: ask for any address of theirs). */
function isSpecified(ip: string | undefined): ip is string {
  return ip !== undefined && ip !== "0.0.0.0" && ip !== "::";
}
