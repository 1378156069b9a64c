// Chooses the time that all views show: now, or any that history holds.
import type { JSX } from "preact";
import { formatAge } from "../../src/lib/duration.ts";
import type { HistoryPage } from "../../src/ports/history.ts";
import { useNowMs, usePage, useRead, useStore } from "../hooks.ts";
import { fromFieldTime, timeText, toFieldTime } from "../lib/time-text.ts";
import { hrefOf } from "../routes.ts";

const minuteMs = 60_000;
/** Not an hour of history: the slider reaches that far nonetheless. */
const shortestMs = 10 * minuteMs;
const oldestPeriodMs = 60_000;

export function TimeControl(): JSX.Element {
  const page = usePage();
  const place = useStore(page.place);
  const nowMs = useNowMs();
  const { value } = useRead<HistoryPage>("/berth/v1/history/entries?limit=1", {
    periodMs: oldestPeriodMs,
  });
  const { atMs } = place;
  const oldestMs = Math.min(value?.oldestMs ?? nowMs, nowMs - shortestMs);
  const choose = (chosenMs: number | undefined): void => page.goTo({ ...place, atMs: chosenMs });
  const step = (byMs: number): void => {
    // That of a simulated node has gone on since it was drawn.
    const currentMs = page.nowMs();
    choose(untilNow(Math.max((atMs ?? currentMs) + byMs, oldestMs), currentMs));
  };
  return (
    <search class={atMs === undefined ? "time" : "time past"} aria-label="Time">
      <span class="time-state">
        {atMs === undefined ? (
          <span class="live">Live</span>
        ) : (
          <>
            <strong>Past</strong> {formatAge(nowMs - atMs)} ago
          </>
        )}
      </span>
      <button type="button" class="button step" onClick={() => step(-minuteMs)}>
        <span class="unseen">One minute earlier</span>
        <span aria-hidden="true">−1m</span>
      </button>
      <input
        type="range"
        class="slider"
        aria-label="Go back in time"
        aria-valuetext={atMs === undefined ? "Live" : timeText(atMs)}
        min={0}
        max={Math.round(nowMs - oldestMs)}
        step={1000}
        value={Math.round((atMs ?? nowMs) - oldestMs)}
        onInput={({ currentTarget: { valueAsNumber } }) =>
          choose(untilNow(oldestMs + valueAsNumber, nowMs))
        }
        onKeyDown={(event) => {
          const byMs = keySteps[event.key];
          if (byMs === undefined) return;
          event.preventDefault();
          step(byMs);
        }}
      />
      <button
        type="button"
        class="button step"
        disabled={atMs === undefined}
        onClick={() => step(minuteMs)}
      >
        <span class="unseen">One minute later</span>
        <span aria-hidden="true">+1m</span>
      </button>
      <TimeField
        shownMs={atMs ?? nowMs}
        onChosen={(chosenMs) => choose(untilNow(Math.max(chosenMs, oldestMs), nowMs))}
      />
      {atMs !== undefined && (
        <a class="button primary" href={hrefOf({ route: place.route })}>
          Back to live
        </a>
      )}
    </search>
  );
}

function TimeField({
  shownMs,
  onChosen,
}: {
  readonly shownMs: number;
  readonly onChosen: (ms: number) => void;
}): JSX.Element {
  return (
    <input
      type="datetime-local"
      class="field time-field"
      aria-label="Time to show"
      step={1}
      value={toFieldTime(shownMs)}
      onChange={({ currentTarget }) => {
        const chosenMs = fromFieldTime(currentTarget.value);
        if (chosenMs !== undefined) onChosen(chosenMs);
      }}
    />
  );
}

const keySteps: Readonly<Record<string, number>> = {
  ArrowLeft: -minuteMs,
  ArrowDown: -minuteMs,
  ArrowRight: minuteMs,
  ArrowUp: minuteMs,
  PageDown: -60 * minuteMs,
  PageUp: 60 * minuteMs,
};

/** What is not past is live. */
function untilNow(chosenMs: number, nowMs: number): number | undefined {
  return chosenMs > nowMs - 1_500 ? undefined : Math.round(chosenMs);
}
