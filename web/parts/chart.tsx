// What was used over time, as a line to scale. Drawn as SVG by ourselves: docs/adr says why.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { runsOf, type Sample, type Series, sampleAt } from "../lib/samples.ts";
import { clockText, timeText } from "../lib/time-text.ts";

export interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly fromMs: number;
  readonly untilMs: number;
  /** The top of the scale; undefined = what is highest. */
  readonly max?: number | undefined;
  readonly format: (value: number) => string;
  /** Beside the newest value: "of 2 cores". */
  readonly note?: string | undefined;
}

const width = 400;
const height = 96;
export function Chart(props: ChartProps): JSX.Element {
  const { title, series, fromMs, untilMs, format, note } = props;
  const [hoverMs, setHoverMs] = useState<number | undefined>(undefined);
  const highest = Math.max(
    0,
    ...series.flatMap(({ samples }) => samples.map(({ value }) => value)),
  );
  const max = props.max ?? (highest === 0 ? 1 : highest * 1.15);
  const shownMs = hoverMs ?? untilMs;
  const values = series.map(({ name, samples }) => ({ name, at: sampleAt(samples, shownMs) }));
  const x = (ms: number): number => ((ms - fromMs) / (untilMs - fromMs)) * width;
  const y = (value: number): number => height - (Math.min(value, max) / max) * (height - 2) - 1;
  const hover = ({
    currentTarget,
    clientX,
  }: MouseEvent & { currentTarget: SVGSVGElement }): void => {
    const box = currentTarget.getBoundingClientRect();
    setHoverMs(fromMs + ((clientX - box.left) / box.width) * (untilMs - fromMs));
  };
  const first = values[0]?.at;
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <span class="chart-value">
          {series.length === 1
            ? first === undefined
              ? "–"
              : format(first.value)
            : values.map(({ name, at }, index) => (
                <span key={name} class={`key key-${index}`}>
                  {name} {at === undefined ? "–" : format(at.value)}
                </span>
              ))}
          {note !== undefined && <span class="muted"> {note}</span>}
        </span>
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the label has the same for those who do not point */}
      <svg
        role="img"
        aria-label={describe(props, highest)}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        onMouseMove={hover}
        onMouseLeave={() => setHoverMs(undefined)}
      >
        {[0.25, 0.5, 0.75].map((part) => (
          <line key={part} class="grid" x1={0} x2={width} y1={height * part} y2={height * part} />
        ))}
        {series.map(({ name, samples }, index) => (
          <SeriesLine key={name} samples={samples} index={index} x={x} y={y} fromMs={fromMs} />
        ))}
        {hoverMs !== undefined && (
          <line class="cursor" x1={x(hoverMs)} x2={x(hoverMs)} y1={0} y2={height} />
        )}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{clockText(fromMs)}</span>
        <span>{hoverMs === undefined ? "" : timeText(first?.atMs ?? hoverMs)}</span>
        <span>{clockText(untilMs)}</span>
      </div>
    </figure>
  );
}

function SeriesLine({
  samples,
  index,
  x,
  y,
  fromMs,
}: {
  readonly samples: readonly Sample[];
  readonly index: number;
  readonly x: (ms: number) => number;
  readonly y: (value: number) => number;
  readonly fromMs: number;
}): JSX.Element {
  const runs = runsOf(samples.filter(({ atMs }) => atMs >= fromMs));
  const point = ({ atMs, value }: Sample): string => `${x(atMs).toFixed(1)},${y(value).toFixed(1)}`;
  return (
    <g class={`series series-${index}`}>
      {runs.map((run) => {
        const [start] = run;
        const end = run.at(-1);
        if (start === undefined || end === undefined) return null;
        const line = `M${run.map(point).join("L")}`;
        return (
          <g key={start.atMs}>
            {index === 0 && (
              <path class="area" d={`${line}V${height}H${x(start.atMs).toFixed(1)}Z`} />
            )}
            <path class="line" d={run.length === 1 ? `${line}h1` : line} />
          </g>
        );
      })}
    </g>
  );
}

/** The chart for those who do not see it. */
function describe({ title, series, fromMs, untilMs, format }: ChartProps, highest: number): string {
  const newest = series.map(({ name, samples }) => {
    const at = sampleAt(samples, untilMs);
    return `${name} ${at === undefined ? "not known" : format(at.value)}`;
  });
  const span = `${clockText(fromMs)} to ${clockText(untilMs)}`;
  return `${title}, ${span}: ${newest.join(", ")}; at most ${format(highest)}`;
}
