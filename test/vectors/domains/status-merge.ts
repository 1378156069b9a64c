import { mergePodStatus } from "../../../src/core/status/merge-status.ts";
import type { PodStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { withoutNulls } from "../encodings.ts";
import { setToNow, shownStatus, stepNowMs } from "../set-to-now.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly oldStatus: PodStatus;
  readonly newStatus: PodStatus;
  readonly couldHaveRunningContainers: boolean;
}

export const statusMerge: VectorDomain = vectorDomain<Input>("status-merge", (input) => {
  const { pod, oldStatus, newStatus, couldHaveRunningContainers } = withoutNulls(input);
  const status = mergePodStatus({
    pod,
    apiStatus: oldStatus,
    status: newStatus,
    mayHaveRunningContainers: couldHaveRunningContainers,
    nowMs: stepNowMs(0),
  });
  return { status: shownStatus(status), setToNow: setToNow(status, 0) };
});
