import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Drawn, drawItems } from "../../../model/collapse.ts";
import { timeTicks } from "../../../model/time-ticks.ts";
import {
  changesOf,
  focusOn,
  pan,
  type TimeWindow,
  wholeWindow,
  zoom,
} from "../../../model/time-window.ts";
import type { Timeline } from "../../../model/timeline.ts";
import type { TimelineLane } from "../../../model/timeline-item.ts";
import { ItemDetails, itemName } from "./item-details.tsx";
import { useWidth } from "./use-width.ts";

const heights = { tall: 28, low: 16 } as const;
const axisHeight = 24;
const zoomFactor = 0.6;
const wheelFactor = 1.0015;
const panShare = 0.2;
/** Wide enough for a letter. */
const letterWidth = 6.4;

interface PlacedLane {
  readonly lane: TimelineLane;
  readonly y: number;
  readonly height: number;
  readonly drawn: readonly Drawn[];
}

/** Where the keyboard is: the lane's and the item's ids, which outlive a redraw. */
interface Focus {
  readonly lane: string;
  readonly item: string;
}

export function TimelineChart({ timeline }: { readonly timeline: Timeline }): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [chosen, setChosen] = useState<TimeWindow | undefined>(undefined);
  const [focus, setFocus] = useState<Focus | undefined>(undefined);
  const [hovered, setHovered] = useState<Drawn | undefined>(undefined);
  const whole = wholeWindow(timeline);
  const shown = chosen ?? whole;
  const lanes = placeLanes(timeline, { ...shown, width });
  const height = axisHeight + lanes.reduce((sum, lane) => sum + lane.height, 0);
  const focused = findFocused(lanes, focus);
  const svg = useRef<SVGSVGElement>(null);
  const change = (next: TimeWindow | undefined): void => setChosen(next);
  useWheel(svg, { shown, whole, width }, change);
  const drag = useDrag({ shown, whole, width }, change);
  const onKeyDown = (event: KeyboardEvent): void => {
    const moved = moveFocus(event.key, lanes, focused);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moved !== undefined && !event.shiftKey) {
      setFocus(moved);
      event.preventDefault();
      return;
    }
    const next = keyWindow(event.key, { shown, whole }, focused?.drawn);
    if (next === undefined) return;
    change(next.window);
    event.preventDefault();
  };
  const detailed = hovered ?? focused?.drawn;
  return (
    <div class="timeline">
      <Tools
        isWhole={chosen === undefined}
        onZoom={(factor) =>
          change(zoom(shown, whole, { factor, aroundMs: (shown.startMs + shown.endMs) / 2 }))
        }
        onPan={(share) => change(pan(shown, whole, (shown.endMs - shown.startMs) * share))}
        onWhole={() => change(undefined)}
        onChanges={() => change(focusOn(changesIn(timeline), whole))}
      />
      <div class="timeline-body">
        <div class="timeline-titles" aria-hidden="true" style={{ paddingTop: `${axisHeight}px` }}>
          {lanes.map(({ lane, height: laneHeight }) => (
            <div
              key={lane.id}
              class={`timeline-title ${lane.size}`}
              style={{ height: `${laneHeight}px` }}
            >
              {lane.title}
            </div>
          ))}
        </div>
        <div class="timeline-plot" ref={ref}>
          <svg
            ref={svg}
            width={width}
            height={height}
            role="group"
            aria-label="Timeline. Arrow keys move between what happened, plus and minus zoom, 0 shows all."
            onKeyDown={onKeyDown}
            onPointerLeave={() => setHovered(undefined)}
            {...drag}
          >
            <Hatching />
            <Axis window={{ ...shown, width }} height={height} />
            {lanes.map((lane, index) => (
              <Lane
                key={lane.lane.id}
                placed={lane}
                width={width}
                isStriped={index % 2 === 1}
                focused={focused?.placed === lane ? focused.drawn : undefined}
                isEntry={focused === undefined && index === 0}
                onFocus={(drawn) => setFocus({ lane: lane.lane.id, item: drawn.item.id })}
                onHover={setHovered}
                onOpen={(drawn) => change(focusOn(spanOf(drawn), whole) ?? chosen)}
              />
            ))}
          </svg>
        </div>
      </div>
      <ItemDetails lane={laneTitle(lanes, detailed)} item={detailed?.item} />
    </div>
  );
}

function Tools({
  isWhole,
  onZoom,
  onPan,
  onWhole,
  onChanges,
}: {
  readonly isWhole: boolean;
  readonly onZoom: (factor: number) => void;
  readonly onPan: (share: number) => void;
  readonly onWhole: () => void;
  readonly onChanges: () => void;
}): JSX.Element {
  return (
    <div class="timeline-tools" role="toolbar" aria-label="Zoom">
      <button
        type="button"
        class="button"
        aria-label="Earlier"
        disabled={isWhole}
        onClick={() => onPan(-panShare * 2)}
      >
        ←
      </button>
      <button
        type="button"
        class="button"
        aria-label="Later"
        disabled={isWhole}
        onClick={() => onPan(panShare * 2)}
      >
        →
      </button>
      <button
        type="button"
        class="button"
        aria-label="Zoom out"
        disabled={isWhole}
        onClick={() => onZoom(1 / zoomFactor)}
      >
        −
      </button>
      <button type="button" class="button" aria-label="Zoom in" onClick={() => onZoom(zoomFactor)}>
        +
      </button>
      <button type="button" class="button" disabled={isWhole} onClick={onWhole}>
        All
      </button>
      <button type="button" class="button" onClick={onChanges}>
        Changes
      </button>
      <span class="muted timeline-hint">
        Ctrl and wheel zoom, drag moves, a double click fills the width
      </span>
    </div>
  );
}

function changesIn(timeline: Timeline): TimeWindow {
  const items = timeline.lanes.flatMap((lane) => lane.items);
  return (
    changesOf(items.map((item) => ({ ...item, endMs: item.endMs ?? item.startMs }))) ?? timeline
  );
}

function placeLanes(
  { lanes }: Timeline,
  scale: TimeWindow & { readonly width: number },
): readonly PlacedLane[] {
  let y = axisHeight;
  return lanes.map((lane) => {
    const height = heights[lane.size];
    const placed = {
      lane,
      y,
      height,
      drawn: scale.width === 0 ? [] : drawItems(lane.items, scale),
    };
    y += height;
    return placed;
  });
}

/** What waits is hatched: it is told from what runs without colours, too. */
function Hatching(): JSX.Element {
  return (
    <defs>
      <pattern
        id="hatching"
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <line x1="0" y1="0" x2="0" y2="6" class="hatch" />
      </pattern>
    </defs>
  );
}

function Axis({
  window,
  height,
}: {
  readonly window: TimeWindow & { readonly width: number };
  readonly height: number;
}): JSX.Element {
  const { startMs, endMs, width } = window;
  const ticks = width === 0 ? [] : timeTicks(window);
  return (
    <g class="axis" aria-hidden="true">
      {ticks.map(({ atMs, text }) => {
        const x = ((atMs - startMs) / (endMs - startMs)) * width;
        return (
          <g key={atMs} transform={`translate(${x.toFixed(1)} 0)`}>
            <line y1={axisHeight - 5} y2={height} />
            {x < width - 40 && (
              <text x="4" y={axisHeight - 8}>
                {text}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

function Lane({
  placed,
  width,
  isStriped,
  focused,
  isEntry,
  onFocus,
  onHover,
  onOpen,
}: {
  readonly placed: PlacedLane;
  readonly width: number;
  readonly isStriped: boolean;
  readonly focused: Drawn | undefined;
  /** Tab leads to its first item. */
  readonly isEntry: boolean;
  readonly onFocus: (drawn: Drawn) => void;
  readonly onHover: (drawn: Drawn | undefined) => void;
  readonly onOpen: (drawn: Drawn) => void;
}): JSX.Element {
  const { lane, y, height, drawn } = placed;
  return (
    <g
      transform={`translate(0 ${y})`}
      role="group"
      aria-label={lane.title === "" ? undefined : lane.title}
    >
      <rect class={isStriped ? "lane striped" : "lane"} width={width} height={height} />
      {drawn.map((each, index) => (
        <Bar
          key={each.item.id}
          drawn={each}
          lane={lane}
          isFocused={focused?.item.id === each.item.id}
          isReachable={focused?.item.id === each.item.id || (isEntry && index === 0)}
          onFocus={() => onFocus(each)}
          onHover={() => onHover(each)}
          onOpen={() => onOpen(each)}
        />
      ))}
    </g>
  );
}

function Bar({
  drawn,
  lane,
  isFocused,
  isReachable,
  onFocus,
  onHover,
  onOpen,
}: {
  readonly drawn: Drawn;
  readonly lane: TimelineLane;
  readonly isFocused: boolean;
  readonly isReachable: boolean;
  readonly onFocus: () => void;
  readonly onHover: () => void;
  readonly onOpen: () => void;
}): JSX.Element {
  const { item, x, width, count } = drawn;
  const ref = useRef<SVGGElement>(null);
  useEffect(() => {
    // The keyboard's place moves, and with it what the browser says has the focus.
    if (isFocused && document.activeElement?.closest("svg") === ref.current?.ownerSVGElement) {
      ref.current?.focus({ preventScroll: true });
    }
  }, [isFocused]);
  const barHeight = heights[lane.size] - (lane.size === "tall" ? 8 : 6);
  const isLabelled = lane.size === "tall" && item.label.length * letterWidth < width - 8;
  const isMoment = item.endMs === undefined && count === 1;
  const waits = item.id.startsWith("wait-");
  return (
    <g
      ref={ref}
      class={`bar ${item.tone}${item.isOpen ? " open" : ""}${isFocused ? " focused" : ""}`}
      transform={`translate(${x.toFixed(1)} ${(heights[lane.size] - barHeight) / 2})`}
      role="button"
      tabIndex={isReachable ? 0 : -1}
      aria-label={`${lane.title === "" ? "" : `${lane.title}: `}${itemName(item)}`}
      data-item={item.kind}
      onFocus={onFocus}
      onPointerEnter={onHover}
      onDblClick={onOpen}
    >
      <rect
        width={Math.max(width - (isMoment ? 0 : 1), 2).toFixed(1)}
        height={barHeight}
        rx={Math.min(3, width / 2)}
      />
      {waits && (
        <rect class="hatched" width={Math.max(width - 1, 2).toFixed(1)} height={barHeight} rx="3" />
      )}
      {isLabelled && (
        <text x="6" y={barHeight / 2 + 4}>
          {item.label}
        </text>
      )}
    </g>
  );
}

interface Shown {
  readonly shown: TimeWindow;
  readonly whole: TimeWindow;
}

interface Plot extends Shown {
  readonly width: number;
}

/** The wheel zooms with Ctrl, as pinching does; across it moves. */
function useWheel(
  ref: { readonly current: SVGSVGElement | null },
  plot: Plot,
  change: (next: TimeWindow | undefined) => void,
): void {
  const latest = useRef({ plot, change });
  latest.current = { plot, change };
  useEffect(() => {
    const element = ref.current;
    const onWheel = (event: WheelEvent): void => {
      const { shown, whole, width } = latest.current.plot;
      const lengthMs = shown.endMs - shown.startMs;
      if (event.ctrlKey || event.metaKey) {
        const aroundMs = shown.startMs + (event.offsetX / width) * lengthMs;
        const factor = wheelFactor ** event.deltaY;
        latest.current.change(zoom(shown, whole, { factor, aroundMs }));
      } else {
        const across = event.shiftKey ? event.deltaY : event.deltaX;
        if (across === 0) return;
        latest.current.change(pan(shown, whole, (across / width) * lengthMs));
      }
      event.preventDefault();
    };
    // Preact listens passively, and the browser would zoom the whole page.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [ref]);
}

interface Dragging {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerUp: () => void;
}

function useDrag(
  { shown, whole, width }: Plot,
  change: (next: TimeWindow | undefined) => void,
): Dragging {
  const from = useRef<{ readonly x: number; readonly shown: TimeWindow } | undefined>(undefined);
  return useMemo(
    () => ({
      onPointerDown: (event: PointerEvent) => {
        if (event.button === 0) from.current = { x: event.clientX, shown };
      },
      onPointerMove: (event: PointerEvent) => {
        if (from.current === undefined || event.buttons === 0) return;
        const { shown: before, x } = from.current;
        const byMs = ((x - event.clientX) / width) * (before.endMs - before.startMs);
        if (before.endMs - before.startMs < whole.endMs - whole.startMs) {
          change(pan(before, whole, byMs));
        }
      },
      onPointerUp: () => {
        from.current = undefined;
      },
    }),
    [shown, whole, width, change],
  );
}

interface Focused {
  readonly placed: PlacedLane;
  readonly drawn: Drawn;
}

function findFocused(lanes: readonly PlacedLane[], focus: Focus | undefined): Focused | undefined {
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

function spanOf({ item }: Drawn): TimeWindow {
  return { startMs: item.startMs, endMs: item.endMs ?? item.startMs };
}

function laneTitle(lanes: readonly PlacedLane[], drawn: Drawn | undefined): string {
  const index = lanes.findIndex((lane) => drawn !== undefined && lane.drawn.includes(drawn));
  const found =
    index < 0
      ? lanes.findIndex(({ lane }) => lane.items.some(({ id }) => id === drawn?.item.id))
      : index;
  // What stands below a container's runs belongs to it.
  return lanes[found]?.lane.title || (lanes[found - 1]?.lane.title ?? "");
}
