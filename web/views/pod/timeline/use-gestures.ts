import { useEffect, useMemo, useRef } from "preact/hooks";
import { pan, type TimeWindow, zoom } from "../../../model/time-window.ts";

const wheelFactor = 1.0015;

export interface Shown {
  readonly shown: TimeWindow;
  readonly whole: TimeWindow;
}

interface Plot extends Shown {
  readonly width: number;
}

/** The wheel zooms with Ctrl, as pinching does; across it moves. */
export function useWheel(
  ref: { readonly current: SVGSVGElement | null },
  plot: Plot,
  change: (next: TimeWindow | undefined) => void,
): void {
  const { shown, whole, width } = plot;
  useEffect(() => {
    const element = ref.current;
    const onWheel = (event: WheelEvent): void => {
      const lengthMs = shown.endMs - shown.startMs;
      if (event.ctrlKey || event.metaKey) {
        const aroundMs = shown.startMs + (event.offsetX / width) * lengthMs;
        change(zoom(shown, whole, { factor: wheelFactor ** event.deltaY, aroundMs }));
      } else {
        const across = event.shiftKey ? event.deltaY : event.deltaX;
        if (across === 0) return;
        change(pan(shown, whole, (across / width) * lengthMs));
      }
      event.preventDefault();
    };
    // Preact listens passively, and the browser would zoom the whole page.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [ref, shown, whole, width, change]);
}

interface Dragging {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerUp: () => void;
}

export function useDrag(
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
