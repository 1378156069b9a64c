import type { JSX } from "preact";
import { type Tone, toneOf } from "../lib/tone.ts";

/** A pod's or container's status in kubectl's words, in the colour of what it means. */
export function StatusBadge({
  status,
  tone = toneOf(status),
}: {
  readonly status: string;
  readonly tone?: Tone | undefined;
}): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={status}>
      {status}
    </span>
  );
}
