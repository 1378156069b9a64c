// The packet filter of this machine, and what is kept in it.
import { createHash } from "node:crypto";
import { upPacketRules } from "../core/network/packet-rules.ts";
import { iptablesFilter } from "../drivers/linux/iptables.ts";
import { readMachine } from "../drivers/linux/read-machine.ts";
import { systemClock } from "../drivers/linux/system-clock.ts";
import { PacketRules } from "../engine/node/packet-rules.ts";
import { withEither } from "../lib/with-either.ts";
import type { FilterItem, FilterRule } from "../model/packet-filter.ts";
import type { Log } from "../ports/log.ts";

/** Keeps rules while `work` runs, which does not wait for them: another program that holds the lock must not hold up the agent. */
export async function withPacketRules(
  { rules, log }: { readonly rules: readonly FilterItem[]; readonly log: Log },
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const filter = iptablesFilter(readMachine().tools.iptables);
  const keeper = new PacketRules({ filter, rules, clock: systemClock, log });
  const done = new AbortController();
  const keeping = withEither([signal, done.signal], (either) => keeper.run(either));
  try {
    await work();
  } finally {
    done.abort();
    await keeping;
  }
}

/** The rules that `berth up` keeps for a data folder on a runtime that is not its own. */
export function dataDirPacketRules(dataDir: string): readonly FilterRule[] {
  return upPacketRules(createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
}

/** Removes them; without iptables there are none. */
export async function removePacketRules(
  rules: readonly FilterRule[],
  signal: AbortSignal,
): Promise<void> {
  const { iptables } = readMachine().tools;
  if (iptables === undefined) return;
  const filter = iptablesFilter(iptables);
  for (const rule of rules) await filter.remove(rule, signal);
}
