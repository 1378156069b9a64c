import { createHash } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { NetworkSettings } from "./containerd-config.ts";
import type { ContainerdPaths } from "./containerd-paths.ts";
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
  for (const id of sandboxesOfNetwork(cached, bridge)) await forgetSandbox(bridge, id, tools);
}

/** The sandboxes that had an address, a cached result or rules in the network before a time. */
export async function sandboxesInNetwork(
  { bridge }: NetworkSettings,
  paths: ContainerdPaths,
  tools: ContainerdTools,
  beforeMs: number,
): Promise<readonly string[]> {
  const isOld = async (file: string): Promise<boolean> => {
    const info = await stat(file).catch(() => undefined);
    return info !== undefined && info.mtimeMs < beforeMs;
  };
  const found = new Set<string>();
  const recent = new Set<string>();
  for (const { file, owner } of await addressFiles(bridge, paths)) {
    ((await isOld(file)) ? found : recent).add(owner);
  }
  for (const name of await readdir(RESULT_CACHE).catch(() => [])) {
    const [id] = sandboxesOfNetwork([name], bridge);
    if (id !== undefined && (await isOld(join(RESULT_CACHE, name)))) found.add(id);
  }
  // Rules have no time; they are made after the address is taken.
  const rules = await runCommand(tools.iptables, ["-w", "-t", "nat", "-S"]);
  for (const id of sandboxesInRules(rules.split("\n"), bridge)) if (!recent.has(id)) found.add(id);
  // An address that is being taken has no owner yet.
  found.delete("");
  return [...found];
}

/** The ids of the sandboxes for which a CNI network has rules. */
export function sandboxesInRules(rules: readonly string[], network: string): readonly string[] {
  const mark = `name: \\"${network}\\" id: \\"`;
  const ids = rules.flatMap((rule) => rule.split(mark).slice(1));
  return [...new Set(ids.map((text) => /^[0-9a-f]+/.exec(text)?.[0] ?? ""))];
}

/** Removes the rules, cached results and the address of one sandbox, whose network namespace is gone. */
export async function removeSandboxNetwork(
  { bridge }: NetworkSettings,
  sandboxId: string,
  paths: ContainerdPaths,
  tools: ContainerdTools,
): Promise<void> {
  await removeNatRules(bridge, tools, sandboxId);
  await forgetSandbox(bridge, sandboxId, tools);
  for (const { file, owner } of await addressFiles(bridge, paths)) {
    if (owner === sandboxId) await rm(file, { force: true });
  }
}

async function forgetSandbox(bridge: string, id: string, tools: ContainerdTools): Promise<void> {
  // Only pods with limited traffic have one.
  await runCommand(tools.ip, ["link", "delete", shaperName(bridge, id)]).catch(() => undefined);
  const cached = await readdir(RESULT_CACHE).catch(() => []);
  // Every sandbox of the network also has a result of the loopback network.
  const results = cached.filter((name) => name.includes(`-${id}-`));
  for (const name of results) await rm(join(RESULT_CACHE, name), { force: true });
}

/** The files by which the plugin "host-local" keeps addresses, each with the sandbox that has it. */
async function addressFiles(
  bridge: string,
  { ipamFolder }: ContainerdPaths,
): Promise<readonly { readonly file: string; readonly owner: string }[]> {
  const folder = join(ipamFolder, bridge);
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^[0-9.]+$/.test(name));
  return Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      const text = await readFile(file, "utf8").catch(() => "");
      return { file, owner: text.split(/\s/)[0] ?? "" };
    }),
  );
}

// Pods of other networks come and go meanwhile, and with them the shared chains: then it is planned again.
async function removeNatRules(
  network: string,
  tools: ContainerdTools,
  sandboxId?: string,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const rules = await runCommand(tools.iptables, ["-w", "-t", "nat", "-S"]);
    try {
      for (const command of planRuleRemoval(rules.split("\n"), network, sandboxId)) {
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

/**
 * The iptables commands that remove the rules and chains of a CNI network, or of one sandbox in it, and the shared
 * chains that are no longer used.
 */
export function planRuleRemoval(
  rules: readonly string[],
  network: string,
  sandboxId?: string,
): readonly (readonly string[])[] {
  const all = rules.filter((rule) => rule.startsWith("-A ")).map(splitRule);
  const mark = `name: "${network}" id: ${sandboxId === undefined ? "" : `"${sandboxId}"`}`;
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
