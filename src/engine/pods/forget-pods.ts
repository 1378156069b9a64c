import { whatIsLeft } from "../../core/pod/pod-leftovers.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { ManagedPod } from "./managed-pod.ts";
import { hasFiles } from "./pod-memory.ts";
import type { PodTable } from "./pod-table.ts";

export interface ForgetPodsDeps {
  readonly table: PodTable;
  readonly observed: Pick<ObservedPods, "has">;
}

/** Forgets the pods of which nothing is left. */
export function forgetPods(deps: ForgetPodsDeps): void {
  for (const pod of deps.table.all()) {
    if (reasonsToRemember(deps, pod).length === 0) deps.table.delete(pod.uid);
  }
}

function reasonsToRemember({ observed }: ForgetPodsDeps, pod: ManagedPod): readonly string[] {
  const { uid, wanted, worker, removal, reading, report } = pod;
  return whatIsLeft({
    isWanted: wanted !== undefined,
    workerState: worker?.state.state,
    isInRuntime: observed.has(uid),
    isBeingRead: reading?.running !== undefined,
    isBeingReported: report !== undefined,
    removal: removal?.state,
    hasFiles: hasFiles(pod),
  });
}
