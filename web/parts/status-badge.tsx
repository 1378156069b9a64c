import type { JSX } from "preact";
import { toneOf } from "../lib/tone.ts";

/** A pod's or container's status in kubectl's words, in the colour of what it means. */
export function StatusBadge({ status }: { readonly status: string }): JSX.Element {
  return <span class={`badge ${toneOf(status)}`}>{status}</span>;
}
