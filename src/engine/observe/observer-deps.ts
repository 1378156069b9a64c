import type { ObservedPod } from "../../model/observed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";
import type { Faults } from "../agent/faults.ts";
import type { PodCache } from "./pod-cache.ts";
import type { ReadHint } from "./read-pod.ts";

export type ObserverMode = "cri" | "containerd" | "polling";

export interface ObserverDeps {
  readonly runtime: ContainerRuntime;
  /** Tried in this order; polling is what is left. */
  readonly eventSources: readonly RuntimeEvents[];
  readonly readPod: (uid: string, signal: AbortSignal, hint: ReadHint) => Promise<ObservedPod>;
  readonly cache: PodCache;
  /** Ends with what is being done to that pod; undefined when nothing is. Whoever does it reads the pod at the end. */
  readonly workOn: (uid: string) => Promise<unknown> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Pick<Faults, "note">;
  /** Something of that pod is not as it was when last read. */
  readonly onChange: (observed: ObservedPod) => void;
  /** Told after every listing: the runtime answers, or why it does not. */
  readonly onHealth: (error: string | undefined) => void;
  /** How long a listing of all took, and how long before it the last one began. */
  readonly onRelist: (durationMs: number, sinceLastMs: number | undefined) => void;
}
