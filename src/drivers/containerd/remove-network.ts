import { createHash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { NetworkSettings } from "./containerd-config.ts";
import { removeNetworkRules, splitRule } from "./network-rules.ts";
import type { ContainerdTools } from "./prepare-machine.ts";
import { runCommand } from "./run-command.ts";

const INTERFACE_NAME_LENGTH = 15;
const MAX_TRIES = 10;
const RESULT_CACHE = "/var/lib/cni/results";

/** Removes the bridge, its ports, the rules and the cached results that CNI plugins made for one network. */
export async function removeNetwork(
  network: NetworkSettings,
  tools: ContainerdTools,
): Promise<void> {
  const { bridge } = network;
  const ports = await readdir(`/sys/class/net/${bridge}/brif`).catch(() => []);
  for (const link of [...ports, bridge]) {
    // A port vanishes with the network namespace at its other end, perhaps just now.
    await runCommand(tools.ip, ["link", "delete", link]).catch(() => undefined);
  }
  await removeNetworkRules(network, tools);
  await removeNatRules(bridge, tools);
  const cached = await readdir(RESULT_CACHE).catch(() => []);
  const sandboxes = sandboxesOfNetwork(cached, bridge);
  for (const id of sandboxes) {
    // Only pods with limited traffic have one.
    await runCommand(tools.ip, ["link", "delete", shaperName(bridge, id)]).catch(() => undefined);
  }
  // Every sandbox of the network also has a result of the loopback network.
  const results = cached.filter((name) => sandboxes.some((id) => name.includes(`-${id}-`)));
  for (const name of results) await rm(join(RESULT_CACHE, name), { force: true });
}

// Pods of other networks come and go meanwhile, and with them the chains that all share: then it is planned anew.
async function removeNatRules(network: string, tools: ContainerdTools): Promise<void> {
  for (let tries = 1; ; tries++) {
    const rules = await runCommand(tools.iptables, ["-w", "-t", "nat", "-S"]);
    try {
      for (const command of planRuleRemoval(rules.split("\n"), network)) {
        await runCommand(tools.iptables, ["-w", "-t", "nat", ...command]);
      }
      return;
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
    }
  }
}

function sandboxesOfNetwork(cached: readonly string[], network: string): readonly string[] {
  return cached
    .filter((name) => name.startsWith(`${network}-`))
    .map((name) => /^([0-9a-f]{64})-/.exec(name.slice(network.length + 1))?.[1])
    .filter((id) => id !== undefined);
}

/** The interface that the CNI plugin "bandwidth" makes to limit what a sandbox sends. */
function shaperName(network: string, sandboxId: string): string {
  const hash = createHash("sha512").update(`${network}${sandboxId}`).digest("hex");
  return `bwp${hash}`.slice(0, INTERFACE_NAME_LENGTH);
}

/** The iptables commands that remove one CNI network's rules and chains, and shared chains nobody uses any more. */
export function planRuleRemoval(
  rules: readonly string[],
  network: string,
): readonly (readonly string[])[] {
  const all = rules.filter((rule) => rule.startsWith("-A ")).map(splitRule);
  const mark = `name: "${network}" id: `;
  const own = all.filter((rule) => rule.some((word) => word.includes(mark)));
  const chains = new Set(own.map(jumpTarget).filter((chain) => /^CNI-(?!HOSTPORT)/.test(chain)));
  const inChains = (rule: readonly string[]): boolean => chains.has(rule[1] ?? "");
  const left = all.filter((rule) => !own.includes(rule) && !inChains(rule));
  const hasChain = rules.includes("-N CNI-HOSTPORT-DNAT");
  const isUnused = hasChain && !left.some(([, chain]) => chain === "CNI-HOSTPORT-DNAT");
  const shared = isUnused
    ? rules.filter((rule) => rule.startsWith("-N CNI-HOSTPORT-")).map((rule) => rule.slice(3))
    : [];
  const jumps = left.filter((rule) => shared.includes(jumpTarget(rule)));
  const gone = [...chains, ...shared];
  return [
    ...[...own, ...jumps]
      .filter(([, chain = ""]) => !gone.includes(chain))
      .map((rule) => ["-D", ...rule.slice(1)]),
    ...gone.map((chain) => ["-F", chain]),
    ...gone.map((chain) => ["-X", chain]),
  ];
}

function jumpTarget(rule: readonly string[]): string {
  return rule[rule.indexOf("-j") + 1] ?? "";
}
