import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { ExecutorDeps } from "../execute/execute-plan.ts";
import type { PodCgroupControl } from "../execute/resize-pod.ts";
import type { PodCredentials } from "../images/pull-credentials.ts";
import type { PodStage } from "../pods/pod-stage.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";

/** What the recipes of one pod need beside the executor. */
export interface NodeDeps extends ExecutorDeps {
  readonly statuses: PodStatuses;
  readonly resizes: ResizeStatuses;
  /** Resolves when the resources that were granted so far are on disk. */
  readonly allocationsKept: () => Promise<void>;
  /** Has what the probes found. */
  readonly table: Pick<PodTable, "get">;
  readonly cgroups: PodCgroups;
  /** What a pod needs before its containers, in order. */
  readonly stages: readonly PodStage[];
  readonly recorder: FlightRecorder;
  /** Why the runtime's network is not ready; undefined when it is. */
  readonly networkProblem: () => string | undefined;
  readonly requestRead: (uid: string) => void;
  /** The same when the sync has ended, or soon if it takes long. */
  readonly readWhenQuiet: (uid: string) => void;
  /** That pod wants another look. */
  readonly requestSync: (uid: string) => void;
  /** The pod as the runtime has it after that time of the monotonic clock. */
  readonly readNewer: (uid: string, minMs: number, signal: AbortSignal) => Promise<ObservedPod>;
  /** Tells of the pod whenever it was read, until the returned function is called. */
  readonly follow: (uid: string, onState: (observed: ObservedPod) => void) => () => void;
  readonly pullCredentials: (pod: Pod) => PodCredentials;
}

interface PodCgroups extends PodCgroupControl {
  exists(pod: Pod): boolean;
}
