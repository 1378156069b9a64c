import type { PodSource, SourceSnapshot } from "../../src/ports/pod-source.ts";

/** What a running source has delivered. */
export interface SnapshotLog {
  /** The next delivery that no caller has seen yet. */
  next(): Promise<SourceSnapshot>;
  /** The next delivery that fits; those before it are skipped. */
  nextWhere(fits: (snapshot: SourceSnapshot) => boolean): Promise<SourceSnapshot>;
  stop(): Promise<void>;
}

/** Runs a source and queues its deliveries, so that a test waits for them and never for time. */
export function collectSnapshots(source: PodSource): SnapshotLog {
  const controller = new AbortController();
  const queued: SourceSnapshot[] = [];
  let wake: (() => void) | undefined;
  const running = source.run(
    {
      report: () => undefined,
      deliver: (snapshot) => {
        queued.push(snapshot);
        wake?.();
      },
    },
    controller.signal,
  );
  const next = async (): Promise<SourceSnapshot> => {
    for (;;) {
      const snapshot = queued.shift();
      if (snapshot !== undefined) return snapshot;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    next,
    nextWhere: async (fits) => {
      for (;;) {
        const snapshot = await next();
        if (fits(snapshot)) return snapshot;
      }
    },
    stop: async () => {
      controller.abort();
      await running;
    },
  };
}
