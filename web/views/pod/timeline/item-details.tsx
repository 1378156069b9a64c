import type { JSX } from "preact";
import { clockText, dateText, lengthText } from "../../../model/time-ticks.ts";
import type { TimelineItem } from "../../../model/timeline-item.ts";

/** An item as screen readers say it. */
export function itemName(item: TimelineItem): string {
  return `${item.title}, ${timeText(item)}`;
}

/** What was seen, decided and done. */
export function ItemDetails({
  lane,
  item,
}: {
  readonly lane: string;
  readonly item: TimelineItem | undefined;
}): JSX.Element {
  if (item === undefined) {
    return (
      <div class="item-details muted">
        Point at something, or move to it with Tab and the arrow keys, to see what was seen, decided
        and done.
      </div>
    );
  }
  return (
    <div class="item-details" role="region" aria-label="Details">
      <h2>
        {lane !== "" && <span class="muted">{lane} · </span>}
        <span class={`tone ${item.tone}`}>{item.title}</span>
      </h2>
      <p class="muted">{timeText(item)}</p>
      <dl>
        {item.lines.map(({ label, text, tone }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name and never move
          <div key={index} class={label === "Decided" ? "begins" : undefined}>
            <dt>{label}</dt>
            <dd class={tone === undefined ? undefined : `tone ${tone}`}>{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function timeText({ startMs, endMs, isOpen }: TimelineItem): string {
  if (endMs === undefined) return dateText(startMs);
  const length = lengthText(endMs - startMs);
  if (isOpen) return `since ${dateText(startMs)}, for ${length}`;
  return `${dateText(startMs)} to ${clockText(endMs)}, ${length}`;
}
