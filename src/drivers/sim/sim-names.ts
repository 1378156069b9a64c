import { RuntimeError } from "../../model/runtime-error.ts";
import type { SimReservation } from "./sim-call-gate.ts";

/** The names of sandboxes and containers, each reserved from the moment its owner begins to be made. */
export class SimNames {
  readonly #holders = new Map<string, string>();

  /** As containerd refuses a name that is taken, also while its holder is still being made. */
  reservation(
    method: string,
    what: "sandbox" | "container",
    name: string,
    id: string,
  ): SimReservation {
    const key = `${what} ${name}`;
    return {
      take: () => {
        const holder = this.#holders.get(key);
        if (holder !== undefined) {
          const message = `failed to reserve ${what} name "${name}": name "${name}" is reserved for "${holder}"`;
          throw new RuntimeError(method, "Unknown", message);
        }
        this.#holders.set(key, id);
      },
      release: () => this.release(id),
    };
  }

  /** The owner is gone, or was never made. */
  release(id: string): void {
    for (const [key, holder] of this.#holders) {
      if (holder === id) this.#holders.delete(key);
    }
  }
}
