import { errorText } from "../../lib/error-text.ts";
import type { FilterItem, IpFamily } from "../../model/packet-filter.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PacketFilter } from "../../ports/packet-filter.ts";

const intervalMs = 60_000;
const families: readonly IpFamily[] = ["IPv4", "IPv6"];

export interface PacketRulesDeps {
  readonly filter: PacketFilter;
  readonly rules: readonly FilterItem[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps rules in the packet filter: they are back within a minute after a flush. Failures are only logged. */
export class PacketRules {
  readonly #deps: PacketRulesDeps;
  /** The last failure that was logged, by family. */
  readonly #failures = new Map<IpFamily, string>();
  #looks = 0;

  constructor(deps: PacketRulesDeps) {
    this.#deps = deps;
  }

  /** Makes what is missing now. */
  async ensure(signal: AbortSignal): Promise<void> {
    for (const family of families) {
      if (this.#deps.rules.some((item) => item.family === family)) {
        await this.#ensureFamily(family, signal);
      }
    }
    this.#looks += 1;
  }

  /** The same now and once a minute, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.ensure(signal);
      await this.#deps.clock.sleep(intervalMs, signal).catch(() => undefined);
    }
  }

  async #ensureFamily(family: IpFamily, signal: AbortSignal): Promise<void> {
    const { filter, rules, log } = this.#deps;
    const made: string[] = [];
    let failure: string | undefined;
    for (const item of rules.filter((each) => each.family === family)) {
      try {
        if (await filter.ensure(item, signal)) made.push(`${item.table} ${item.chain}`);
      } catch (error) {
        if (signal.aborted) return;
        // The other rules may still be made.
        failure ??= errorText(error);
      }
    }
    if (made.length > 0 && this.#looks === 0) {
      log.info("made packet filter rules", { family, in: made });
    } else if (made.length > 0) {
      log.warn("restored packet filter rules that were removed by another program", {
        family,
        in: made,
      });
    }
    this.#report(family, failure);
  }

  #report(family: IpFamily, failure: string | undefined): void {
    if (failure === undefined) {
      this.#failures.delete(family);
      return;
    }
    if (this.#failures.get(family) === failure) return;
    this.#failures.set(family, failure);
    this.#deps.log.warn("cannot make packet filter rules, continuing without them", {
      family,
      error: failure,
    });
  }
}
