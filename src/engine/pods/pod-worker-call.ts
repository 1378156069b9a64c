import type { KillReason } from "../../core/status/killed-status.ts";
import type { PodWork } from "../../core/worker/worker-state.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { PodSyncer, RuntimeProgress } from "./pod-syncer.ts";

/** What a call may ask of its worker. */
export interface PodWorkContext {
  readonly syncer: PodSyncer;
  /** The pod as it is now, not as it was before the worker's last call. */
  readonly observe: () => Promise<ObservedPod>;
  /** From here on no container is started. Returns the reason of the newest kill. */
  readonly acknowledge: () => KillReason | undefined;
  /** Until now the call may have changed something in the runtime. */
  readonly acted: () => void;
}

/** Makes the one call that the work stands for; true if the pod ran to its end by itself. */
export async function callSyncer(
  work: PodWork,
  { syncer, observe, acknowledge, acted }: PodWorkContext,
  signal: AbortSignal,
): Promise<boolean> {
  if (work.kind === "terminate-runtime") {
    acknowledge();
    await syncer.syncTerminatingRuntimePod(work.runningPod, signal).finally(acted);
    return false;
  }
  const observed = await observe();
  const { pod } = work;
  switch (work.kind) {
    case "sync": {
      const { updateType, mirrorPod } = work;
      return withProgress(acted, async (progress) => {
        const request = { updateType, pod, mirrorPod, observed, progress };
        return (await syncer.syncPod(request, signal)).terminal;
      });
    }
    case "terminate": {
      const { graceSeconds } = work;
      const killReason = acknowledge();
      await withProgress(acted, (progress) => {
        const request = { pod, observed, graceSeconds, killReason, progress };
        return syncer.syncTerminatingPod(request, signal);
      });
      return false;
    }
    case "clean-up":
      await syncer.syncTerminatedPod({ pod, observed }, signal).finally(acted);
      return false;
  }
}

async function withProgress<T>(
  acted: () => void,
  call: (progress: RuntimeProgress) => Promise<T>,
): Promise<T> {
  let isReported = false;
  const changed = (): void => {
    isReported = true;
    acted();
  };
  const unchanged = (): void => {
    isReported = true;
  };
  try {
    const result = await call({ changed, unchanged });
    if (!isReported) acted();
    return result;
  } catch (error) {
    acted();
    throw error;
  }
}
