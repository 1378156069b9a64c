import {
  effectiveResources,
  isResizeInProgress,
} from "../../core/allocation/actuated-resources.ts";
import { resizeMessage } from "../../core/allocation/resize-message.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ActuatedRecord } from "../execute/resize-pod.ts";
import type { StepReport } from "../execute/step-report.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";

export interface SyncResizeDeps {
  readonly actuated: ActuatedRecord;
  readonly resizes: ResizeStatuses;
  readonly events: PodEvents;
  readonly wakeups: Pick<Wakeups, "look">;
}

/** Says whether a resize that was granted is still being carried out, or that it is over. */
export function noteResizeProgress(deps: SyncResizeDeps, pod: Pod, observed: ObservedPod): void {
  const { actuated, resizes, events } = deps;
  const { uid } = pod.metadata;
  // Who ran the pod before kept no record: it has what it was created with.
  const runs = observed.containers.some(({ state }) => state === "running");
  if (runs && actuated.get(uid) === undefined) noteAllApplied(actuated, pod);
  if (isResizeInProgress(pod, observed, actuated.get(uid))) {
    resizes.setInProgress(pod);
    return;
  }
  const generation = resizes.clearInProgress(uid);
  if (generation === undefined) return;
  const message = resizeMessage("completed", pod, generation);
  events.record(pod, { type: "Normal", reason: "ResizeCompleted", message });
}

/** The pod's cgroup was made, with what the pod as a whole has; a new pod's containers start with theirs. */
export function noteNewCgroup({ actuated }: Pick<SyncResizeDeps, "actuated">, pod: Pod): void {
  const { uid } = pod.metadata;
  const { resources } = pod.spec;
  if (actuated.get(uid) === undefined) noteAllApplied(actuated, pod);
  if (resources?.requests !== undefined || resources?.limits !== undefined) {
    actuated.setPod(uid, resources);
  }
}

/** Reports a resize that failed, which the next sync tries again. True when that is news. */
export function noteResizeErrors(
  { resizes, events }: SyncResizeDeps,
  pod: Pod,
  reports: readonly StepReport[],
): boolean {
  let isNews = false;
  for (const { kind, failure } of reports) {
    if (kind !== "resize" || failure === undefined) continue;
    if (!resizes.setInProgress(pod, failure.message)) continue;
    const generation = resizes.get(pod.metadata.uid).inProgress?.observedGeneration ?? 0;
    const message = resizeMessage("error", pod, generation, failure.message);
    events.record(pod, { type: "Warning", reason: "ResizeError", message });
    isNews = true;
  }
  return isNews;
}

/** Syncs again at once after a resize: nothing changed that the runtime would report. */
export function lookAgainIfResized(deps: SyncResizeDeps, pod: Pod, observed: ObservedPod): void {
  const { actuated, resizes, wakeups } = deps;
  const { uid } = pod.metadata;
  if (resizes.get(uid).inProgress === undefined) return;
  if (!isResizeInProgress(pod, observed, actuated.get(uid))) wakeups.look(uid);
}

function noteAllApplied(actuated: ActuatedRecord, pod: Pod): void {
  const { uid } = pod.metadata;
  const { initContainers = [], containers, resources } = pod.spec;
  for (const container of [...initContainers, ...containers]) {
    actuated.setContainer(uid, container.name, effectiveResources(pod, container));
  }
  actuated.setPod(uid, resources);
}
