import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Drawn } from "../../../model/collapse.ts";
import { timeTicks } from "../../../model/time-ticks.ts";
import type { TimeWindow } from "../../../model/time-window.ts";
import type { TimelineLane } from "../../../model/timeline-item.ts";
import { itemName } from "./item-details.tsx";
import { axisHeight, heights, type PlacedLane } from "./placed-lane.ts";

/** Wide enough for a letter. */
const letterWidth = 6.4;

/** What waits is hatched: it is told from what runs without colours, too. */
export function Hatching(): JSX.Element {
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

export function Axis({
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

export function Lane({
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
  // Before anything else is drawn: an effect that is late would take the focus back from where two quick keys have moved it to.
  useLayoutEffect(() => {
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
