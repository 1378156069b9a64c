import type { FilterItem, FilterRule } from "../model/packet-filter.ts";

/** The kernel's packet filter. Rejects where it cannot be set, with a message that says why. */
export interface PacketFilter {
  /** Makes a chain or a rule unless it is there; true when it was missing. */
  ensure(item: FilterItem, signal: AbortSignal): Promise<boolean>;
  /** Removes a rule, as often as it is there. */
  remove(rule: FilterRule, signal: AbortSignal): Promise<void>;
}
