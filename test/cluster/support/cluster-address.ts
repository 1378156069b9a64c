import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:net";

const networks = { first: 200, last: 249 };
// Of the discard protocol: no server of a cluster wants it.
const claimPort = 9;

/** A number that no other cluster on this machine has now, and the address on the loopback interface that goes with it. */
export interface ClusterAddress {
  readonly network: number;
  readonly address: string;
  release(): Promise<void>;
}

/**
 * Claims the first free address. The process that listens on the address's claim port holds it: a killed run holds nothing, and
 * the servers of a cluster can have their usual ports.
 */
export async function claimClusterAddress(): Promise<ClusterAddress> {
  for (let network = networks.first; network <= networks.last; network += 1) {
    // Left by a run that was killed: its containers still have the network.
    if (existsSync(`/sys/class/net/berth-t${network}`)) continue;
    const address = `10.97.${network}.1`;
    ip("replace", address);
    const claim = await listen(address);
    if (claim === undefined) continue;
    return {
      network,
      address,
      release: async () => {
        ip("delete", address);
        await new Promise((resolve) => claim.close(resolve));
      },
    };
  }
  throw new Error(`all addresses for test clusters are taken: see "ip address show dev lo"`);
}

function ip(action: "replace" | "delete", address: string): void {
  execFileSync("ip", ["address", action, `${address}/32`, "dev", "lo"]);
}

/** Undefined when another process listens there, or has just given the address back. */
function listen(address: string): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen(claimPort, address, () => resolve(server));
  });
}
