import type { InterfaceStats, NetworkStats } from "../../model/stats-summary.ts";

/** The interface whose counters stand for a pod's or node's. */
const defaultInterface = "eth0";

/** Counters of all interfaces, with the default one's in front where there is one. */
export function networkStats(
  interfaces: readonly Required<InterfaceStats>[],
  timeMs: number,
): NetworkStats {
  const list = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) => ({
    name,
    rxBytes,
    rxErrors,
    txBytes,
    txErrors,
  }));
  const main = list.find(({ name }) => name === defaultInterface);
  return { timeMs, name: "", ...main, interfaces: list.length === 0 ? undefined : list };
}
