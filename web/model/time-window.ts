// The part of time that is shown: moved and zoomed, within what there is.

export interface TimeWindow {
  readonly startMs: number;
  readonly endMs: number;
}

const shortestMs = 20;
/** Enough that the last items are not pressed against the edge. */
const margin = 0.015;

/** All of it, with some room. */
export function wholeWindow({ startMs, endMs }: TimeWindow): TimeWindow {
  const room = Math.max(endMs - startMs, 1000) * margin;
  return { startMs: startMs - room, endMs: Math.max(endMs, startMs + 1000) + room };
}

/** Shorter by `factor` around a time that stays where it is. Undefined = all. */
export function zoom(
  shown: TimeWindow,
  whole: TimeWindow,
  { factor, aroundMs }: { readonly factor: number; readonly aroundMs: number },
): TimeWindow | undefined {
  const length = Math.max((shown.endMs - shown.startMs) * factor, shortestMs);
  if (length >= whole.endMs - whole.startMs) return undefined;
  const share = (aroundMs - shown.startMs) / (shown.endMs - shown.startMs);
  return within(
    { startMs: aroundMs - length * share, endMs: aroundMs + length * (1 - share) },
    whole,
  );
}

export function pan(shown: TimeWindow, whole: TimeWindow, byMs: number): TimeWindow {
  return within({ startMs: shown.startMs + byMs, endMs: shown.endMs + byMs }, whole);
}

/** So that a part of time fills most of the width. */
export function focusOn({ startMs, endMs }: TimeWindow, whole: TimeWindow): TimeWindow | undefined {
  const length = Math.max((endMs - startMs) * 1.4, shortestMs * 5);
  if (length >= whole.endMs - whole.startMs) return undefined;
  const middle = (startMs + endMs) / 2;
  return within({ startMs: middle - length / 2, endMs: middle + length / 2 }, whole);
}

/** The part in which something began or ended: what merely goes on takes no room. */
export function changesOf(
  items: Iterable<TimeWindow & { readonly isOpen?: true | undefined }>,
): TimeWindow | undefined {
  let startMs = Number.POSITIVE_INFINITY;
  let endMs = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    startMs = Math.min(startMs, item.startMs);
    endMs = Math.max(endMs, item.isOpen ? item.startMs : item.endMs);
  }
  return startMs < endMs ? { startMs, endMs } : undefined;
}

function within({ startMs, endMs }: TimeWindow, whole: TimeWindow): TimeWindow {
  const length = endMs - startMs;
  if (startMs < whole.startMs) return { startMs: whole.startMs, endMs: whole.startMs + length };
  if (endMs > whole.endMs) return { startMs: whole.endMs - length, endMs: whole.endMs };
  return { startMs, endMs };
}
