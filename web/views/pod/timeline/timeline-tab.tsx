import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useAtMs, useNowMs } from "../../../hooks.ts";
import { makeTimeline } from "../../../model/timeline.ts";
import { useHistory } from "../use-history.ts";
import { TimelineChart } from "./timeline-chart.tsx";

/** The life of a pod, to scale. */
export function TimelineTab({ uid }: { readonly uid: string | undefined }): JSX.Element {
  const atMs = useAtMs();
  const { entries, isRead, hasOlder, failure, readOlder } = useHistory(uid, atMs);
  const liveMs = useNowMs();
  const nowMs = atMs ?? liveMs;
  const timeline = useMemo(() => makeTimeline({ entries, nowMs }), [entries, nowMs]);
  if (failure !== undefined && entries.length === 0) return <p role="alert">{failure.message}</p>;
  if (!isRead) return <p class="muted">Reading history …</p>;
  if (timeline.lanes.length === 0) {
    return <p class="muted">History has nothing of this pod.</p>;
  }
  return (
    <div class="timeline-tab">
      <TimelineChart timeline={timeline} />
      {hasOlder && (
        <p>
          <button type="button" class="button" onClick={readOlder}>
            Read what is older
          </button>
        </p>
      )}
    </div>
  );
}
