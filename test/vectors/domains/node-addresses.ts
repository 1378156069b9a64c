import { nodeAddresses } from "../../../src/core/node/node-addresses.ts";
import { err, ok } from "../../../src/lib/result.ts";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly node: Node;
  readonly nodeIPs: readonly string[];
  readonly hostname: string;
  readonly externalCloudProvider: boolean;
  readonly defaultRouteIP: string;
  readonly invalidNodeIP: string;
}

export const nodeAddressesDomain: VectorDomain = vectorDomain<Input>(
  "node-addresses",
  ({ node, nodeIPs, hostname, externalCloudProvider, defaultRouteIP, invalidNodeIP }) => {
    const { annotations, addresses, problem } = nodeAddresses(
      node,
      { nodeIps: nodeIPs, hostname, externalCloudProvider },
      {
        nodeIpProblem: (ip) =>
          ip === invalidNodeIP
            ? `node IP: "${ip}" not found in the host's network interfaces`
            : undefined,
        namedIps: [],
        defaultIp: defaultRouteIP === "" ? err("no default route") : ok(defaultRouteIP),
      },
    );
    return { annotations, addresses: addresses ?? node.status?.addresses, error: problem };
  },
);
