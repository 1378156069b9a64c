import { parseTime } from "../../lib/time.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";

/** What a pod's status says once it was active for too long. */
export const deadlineExceeded: { readonly reason: string; readonly message: string } = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

/** When the pod's active deadline ends; undefined when it has none or has not begun. */
export function activeDeadlineMs({ spec }: Pod, status: PodStatus): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined) return undefined;
  const startedMs = parseTime(status.startTime);
  return startedMs === undefined ? undefined : startedMs + spec.activeDeadlineSeconds * 1000;
}
