import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { type Drawn, drawItems } from "../../../model/collapse.ts";
import {
  changesOf,
  focusOn,
  pan,
  type TimeWindow,
  wholeWindow,
  zoom,
} from "../../../model/time-window.ts";
import type { Timeline } from "../../../model/timeline.ts";
import { ItemDetails } from "./item-details.tsx";
import {
  type Focus,
  findFocused,
  laneTitle,
  panShare,
  pressKey,
  spanOf,
  zoomFactor,
} from "./keys.ts";
import { Axis, Hatching, Lane } from "./lane.tsx";
import { axisHeight, heights, type PlacedLane } from "./placed-lane.ts";
import { useDrag, useWheel } from "./use-gestures.ts";
import { useWidth } from "./use-width.ts";

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
    const done = pressKey(event, { lanes, focused, shown, whole });
    if (done === undefined) return;
    if (done.focus !== undefined) setFocus(done.focus);
    else change(done.window);
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
        <Titles lanes={lanes} />
        <div class="timeline-plot" ref={ref}>
          <svg
            ref={svg}
            width={width}
            height={height}
            role="toolbar"
            tabIndex={-1}
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

function Titles({ lanes }: { readonly lanes: readonly PlacedLane[] }): JSX.Element {
  return (
    <div class="timeline-titles" aria-hidden="true" style={{ paddingTop: `${axisHeight}px` }}>
      {lanes.map(({ lane, height }) => (
        <div key={lane.id} class={`timeline-title ${lane.size}`} style={{ height: `${height}px` }}>
          {lane.title}
        </div>
      ))}
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
