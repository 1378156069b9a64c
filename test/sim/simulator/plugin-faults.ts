import type { RuntimeErrorCode } from "../../../src/model/runtime-error.ts";
import type { Dice } from "./dice.ts";

/** How one call of a plugin goes wrong; undefined = it does not. */
export type PluginFault =
  /** Nothing was done. */
  | { readonly kind: "refused"; readonly code: RuntimeErrorCode }
  /** All was done, but the answer is another. */
  | { readonly kind: "lost"; readonly code: RuntimeErrorCode }
  /** It takes longer than callers wait, and is then carried out or not. */
  | { readonly kind: "hung"; readonly forMs: number; readonly isDone: boolean };

/** After these the plugin may go on: what it does is not known. */
const uncertainCodes: readonly RuntimeErrorCode[] = [
  "DeadlineExceeded",
  "Unavailable",
  "Aborted",
  "ResourceExhausted",
  "Cancelled",
];
const finalCodes: readonly RuntimeErrorCode[] = ["Internal", "InvalidArgument", "Unknown"];

/** What goes wrong in the calls of plugins: CSI drivers, device plugins, DRA drivers. */
export class PluginFaults {
  readonly #dice: Dice;
  /** How likely any call is to go wrong. */
  rate = 0;
  /** While it lasts every call hangs. */
  areAllHung = false;
  #release = new AbortController();

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Aborts when what hangs goes on. */
  get released(): AbortSignal {
    return this.#release.signal;
  }

  next(): PluginFault | undefined {
    const dice = this.#dice;
    if (this.areAllHung) return { kind: "hung", forMs: 900_000, isDone: dice.chance(0.5) };
    if (!dice.chance(this.rate)) return undefined;
    switch (dice.below(4)) {
      case 0:
        return { kind: "refused", code: dice.pick(finalCodes) };
      case 1:
        return { kind: "refused", code: dice.pick(uncertainCodes) };
      case 2:
        return { kind: "lost", code: dice.pick(uncertainCodes) };
      default: {
        const forMs = dice.pick([5, 20, 60, 150, 400]) * 1000;
        return { kind: "hung", forMs, isDone: dice.chance(0.5) };
      }
    }
  }

  /** What hangs goes on. */
  release(): void {
    this.areAllHung = false;
    this.#release.abort();
    this.#release = new AbortController();
  }

  /** Nothing goes wrong any more. */
  end(): void {
    this.rate = 0;
    this.release();
  }
}
