import type { KillPodOptions } from "../../core/worker/pod-update.ts";
import { withEither } from "../../lib/with-either.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { PodWorkers } from "./pod-workers.ts";

export interface PodKiller {
  readonly workers: Pick<PodWorkers, "updatePod">;
  readonly clock: Clock;
  readonly events: PodEvents;
}

const shortestWaitSeconds = 10;

/** Kills a pod and waits until nothing of it runs; rejects when that takes half as long again as it may. */
export async function killPodAndWait(
  { workers, clock, events }: PodKiller,
  pod: Pod,
  kill: Omit<KillPodOptions, "onCompleted">,
  signal: AbortSignal,
): Promise<void> {
  const graceSeconds = kill.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  const waitSeconds = Math.max(graceSeconds + Math.trunc(graceSeconds / 2), shortestWaitSeconds);
  const done = new AbortController();
  const timer = withEither([signal, done.signal], (either) =>
    clock.sleep(waitSeconds * 1000, either),
  );
  workers.updatePod({
    updateType: "kill",
    pod,
    kill: { ...kill, onCompleted: () => done.abort() },
  });
  try {
    await timer;
  } catch (error) {
    if (done.signal.aborted) return;
    throw error;
  }
  events.record(pod, {
    type: "Warning",
    reason: "ExceededGracePeriod",
    message: "Container runtime did not kill the pod within specified grace period.",
  });
  throw new Error("timeout waiting to kill pod");
}
