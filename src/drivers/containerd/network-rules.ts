import type { NetworkSettings } from "./containerd-config.ts";
import type { ContainerdTools } from "./prepare-machine.ts";
import { runCommand } from "./run-command.ts";

/** Adds the filter rules that a pod network on a bridge needs and that are not there yet; how many that were. */
export async function ensureNetworkRules(
  { bridge }: NetworkSettings,
  tools: ContainerdTools,
): Promise<number> {
  const present = (await runCommand(tools.iptables, ["-w", "-S"])).split("\n");
  const missing = planNetworkRules(present, bridge);
  for (const command of missing) await runCommand(tools.iptables, ["-w", ...command]);
  return missing.length;
}

/** Removes them again. */
export async function removeNetworkRules(
  { bridge }: NetworkSettings,
  tools: ContainerdTools,
): Promise<void> {
  const present = (await runCommand(tools.iptables, ["-w", "-S"])).split("\n");
  for (const rule of present.filter((line) => isOurs(line, bridge)).map(splitRule)) {
    await runCommand(tools.iptables, ["-w", "-D", ...rule.slice(1)]);
  }
}

/** The iptables commands still to run, given the output of `iptables -S`. */
export function planNetworkRules(
  present: readonly string[],
  bridge: string,
): readonly (readonly string[])[] {
  const comment = ["-m", "comment", "--comment", mark(bridge)];
  const ours = present.filter((line) => isOurs(line, bridge));
  const hasRule = (words: string): boolean => ours.some((line) => line.startsWith(`-A ${words} `));
  const plan: (readonly string[])[] = [];
  // Host ports make the kernel route loopback addresses on the bridge: without this rule pods could
  // reach what listens on the host's loopback only.
  if (!hasRule(`INPUT -d 127.0.0.0/8 -i ${bridge}`)) {
    const isNew = ["-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"];
    plan.push([
      "-I",
      "INPUT",
      "-d",
      "127.0.0.0/8",
      "-i",
      bridge,
      ...comment,
      ...isNew,
      "-j",
      "DROP",
    ]);
  }
  // Such as Docker's. Appended, so that explicit rules of the host still hold.
  if (present.includes("-P FORWARD DROP")) {
    for (const direction of ["-i", "-o"]) {
      if (hasRule(`FORWARD ${direction} ${bridge}`)) continue;
      plan.push(["-A", "FORWARD", direction, bridge, ...comment, "-j", "ACCEPT"]);
    }
  }
  return plan;
}

/** The words of a line of `iptables -S`, which quotes those with spaces. */
export function splitRule(rule: string): readonly string[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
    ([, quoted, plain]) => plain ?? (quoted ?? "").replaceAll(/\\(.)/g, "$1"),
  );
}

function isOurs(line: string, bridge: string): boolean {
  return line.startsWith("-A ") && splitRule(line).includes(mark(bridge));
}

function mark(bridge: string): string {
  return `berth network ${bridge}`;
}
