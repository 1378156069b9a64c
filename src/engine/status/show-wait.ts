import { type WaitReason, waitText } from "../../core/worker/start-gate.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Awaited } from "../../ports/agent-view.ts";

/** The status of a Pending pod, which says in its message why the pod does not start. */
export function withWait(status: PodStatus, reason: WaitReason | undefined): PodStatus {
  if (reason === undefined || status.phase !== "Pending") return status;
  return { ...status, message: `Waiting for ${waitText(reason)}` };
}

export function awaitedStart(reason: WaitReason | undefined): readonly Awaited[] {
  return reason === undefined ? [] : [{ what: waitText(reason) }];
}
