// What the keyboard does in a timeline.
import type { Drawn } from "../../../model/collapse.ts";
import { focusOn, pan, type TimeWindow, zoom } from "../../../model/time-window.ts";
import type { PlacedLane } from "./placed-lane.ts";
import type { Shown } from "./use-gestures.ts";

export const zoomFactor = 0.6;
export const panShare = 0.2;

/** Where the keyboard is: the lane's and the item's ids, which outlive a redraw. */
export interface Focus {
  readonly lane: string;
  readonly item: string;
}

export interface Focused {
  readonly placed: PlacedLane;
  readonly drawn: Drawn;
}

export function findFocused(
  lanes: readonly PlacedLane[],
  focus: Focus | undefined,
): Focused | undefined {
  const placed = lanes.find(({ lane }) => lane.id === focus?.lane);
  if (placed === undefined || focus === undefined) return undefined;
  // Zooming may have put it together with others, or taken it out again.
  const drawn =
    placed.drawn.find(({ item }) => item.id === focus.item) ??
    placed.drawn.find(({ item }) => item.id.split("+")[0] === focus.item.split("+")[0]);
  return drawn === undefined ? undefined : { placed, drawn };
}

function moveFocus(
  key: string,
  lanes: readonly PlacedLane[],
  focused: Focused | undefined,
): Focus | undefined {
  if (focused === undefined) return undefined;
  const { placed, drawn } = focused;
  const index = placed.drawn.indexOf(drawn);
  const to = (lane: PlacedLane | undefined, each: Drawn | undefined): Focus | undefined =>
    lane === undefined || each === undefined
      ? undefined
      : { lane: lane.lane.id, item: each.item.id };
  if (key === "ArrowLeft") return to(placed, placed.drawn[index - 1]);
  if (key === "ArrowRight") return to(placed, placed.drawn[index + 1]);
  if (key === "Home") return to(placed, placed.drawn[0]);
  if (key === "End") return to(placed, placed.drawn.at(-1));
  if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
  const filled = lanes.filter((lane) => lane.drawn.length > 0);
  const next = filled[filled.indexOf(placed) + (key === "ArrowUp" ? -1 : 1)];
  const middle = drawn.x + drawn.width / 2;
  const nearest = next?.drawn.toSorted((a, b) => distance(a, middle) - distance(b, middle))[0];
  return to(next, nearest);
}

function distance({ x, width }: Drawn, to: number): number {
  return Math.max(x - to, to - x - width, 0);
}

function keyWindow(
  key: string,
  { shown, whole }: Shown,
  drawn: Drawn | undefined,
): { readonly window: TimeWindow | undefined } | undefined {
  const lengthMs = shown.endMs - shown.startMs;
  const itemMs = drawn === undefined ? undefined : spanOf(drawn);
  const middleMs =
    itemMs === undefined ? (shown.startMs + shown.endMs) / 2 : (itemMs.startMs + itemMs.endMs) / 2;
  const aroundMs = Math.min(Math.max(middleMs, shown.startMs), shown.endMs);
  switch (key) {
    case "+":
    case "=":
      return { window: zoom(shown, whole, { factor: zoomFactor, aroundMs }) };
    case "-":
      return { window: zoom(shown, whole, { factor: 1 / zoomFactor, aroundMs }) };
    case "0":
      return { window: undefined };
    case "Enter":
      return itemMs === undefined ? undefined : { window: focusOn(itemMs, whole) };
    case "ArrowLeft":
    case "ArrowRight":
      return { window: pan(shown, whole, lengthMs * (key === "ArrowLeft" ? -panShare : panShare)) };
    default:
      return undefined;
  }
}

export function spanOf({ item }: Drawn): TimeWindow {
  return { startMs: item.startMs, endMs: item.endMs ?? item.startMs };
}

export function laneTitle(lanes: readonly PlacedLane[], drawn: Drawn | undefined): string {
  const index = lanes.findIndex((lane) => drawn !== undefined && lane.drawn.includes(drawn));
  const found =
    index < 0
      ? lanes.findIndex(({ lane }) => lane.items.some(({ id }) => id === drawn?.item.id))
      : index;
  // What stands below a container's runs belongs to it.
  return lanes[found]?.lane.title || (lanes[found - 1]?.lane.title ?? "");
}

interface KeyPlace extends Shown {
  readonly lanes: readonly PlacedLane[];
  readonly focused: Focused | undefined;
}

/** Another item, or another part of time (undefined = all); undefined = the key is not the timeline's. */
export function pressKey(
  event: KeyboardEvent,
  { lanes, focused, shown, whole }: KeyPlace,
): { readonly focus?: Focus; readonly window?: TimeWindow | undefined } | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const focus = event.shiftKey ? undefined : moveFocus(event.key, lanes, focused);
  return focus === undefined ? keyWindow(event.key, { shown, whole }, focused?.drawn) : { focus };
}
