import type { Holding } from "../../model/holding.ts";
import { printable } from "./colour.ts";

/** What a container has for itself, with the reason. */
export function holdingText({ container, resource, what, because }: Holding): string {
  return printable(`container ${container}: ${resource} ${what}: ${because}`);
}

/** The same in few words, of several containers. */
export function heldText(holdings: readonly Holding[]): string {
  return printable(holdings.map(({ resource, what }) => `${resource} ${what}`).join("; "));
}
