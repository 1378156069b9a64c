import { SimHistory } from "../../src/drivers/sim/sim-history.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import { NodeHistory } from "../../src/engine/view/node-history.ts";
import type { HistoryStore } from "../../src/ports/history.ts";
import { VirtualClock } from "../sim/virtual-clock.ts";

/** History in memory. */
export function testHistory(
  table: PodTable = new PodTable(),
  historyStore: HistoryStore = new SimHistory(),
): NodeHistory {
  return new NodeHistory({ table, clock: new VirtualClock(), historyStore });
}
