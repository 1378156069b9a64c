import { Wakeups } from "../../src/engine/agent/wakeups.ts";
import { ObservedPods } from "../../src/engine/observe/observed-pods.ts";
import type { EndPodDeps } from "../../src/engine/pods/end-pod.ts";
import type { PodStage } from "../../src/engine/pods/pod-stage.ts";
import { type SyncPodDeps, syncPod } from "../../src/engine/pods/sync-pod.ts";
import { ResizeStatuses } from "../../src/engine/resources/allocation/resize-statuses.ts";
import { ResourceRecords } from "../../src/engine/resources/allocation/resource-records.ts";
import { FlightRecorder } from "../../src/engine/view/flight-recorder.ts";
import type { PodStatus } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { RecordedStep, SyncRecord } from "../../src/ports/sync-record.ts";
import { silentLog } from "../kit/silent-log.ts";
import { StatusWorld } from "../kit/status-world.ts";
import { testHistory } from "../kit/test-history.ts";
import { anonymous, ExecutorWorld } from "./executor-world.ts";

const { signal } = new AbortController();

export const allocatedPath = "/allocated_pods_state";

/** What a pod's worker calls, on a simulated runtime, for one pod. */
export class PodWorld {
  readonly pod: Pod;
  readonly executor: ExecutorWorld = new ExecutorWorld();
  readonly statuses: StatusWorld = new StatusWorld({ clock: this.executor.clock });
  /** What was asked of the stages and reported to the worker, in order. */
  readonly calls: string[] = [];
  /** What the pod was granted, in the executor's files. */
  readonly allocated: ResourceRecords = new ResourceRecords({
    slice: this.executor.table.writer("allocated"),
    files: this.executor.files,
    log: silentLog,
    path: allocatedPath,
  });
  hasCgroup = true;
  networkProblem: string | undefined;
  /** What the stage throws when it is prepared. */
  prepareProblem: Error | undefined;
  /** Why the stage cannot be released. */
  releaseProblem: string | undefined;
  /** What the stage does once the containers have ended. */
  stopped: () => Promise<void> = () => Promise.resolve();
  readonly #recorder: FlightRecorder;
  readonly #observed: ObservedPods;
  readonly #wakeups: Wakeups = new Wakeups();
  readonly #resizes: ResizeStatuses;
  readonly #stage: PodStage = {
    name: "cgroup",
    prepare: async () => {
      if (this.prepareProblem !== undefined) throw this.prepareProblem;
      this.calls.push("prepare");
    },
    stopping: () => void this.calls.push("stopping"),
    stopped: () => this.stopped(),
    release: async () => {
      if (this.releaseProblem !== undefined) throw new Error(this.releaseProblem);
      this.calls.push("release");
    },
  };

  constructor(pod: Pod) {
    const { table, clock } = this.executor;
    this.pod = pod;
    this.#recorder = new FlightRecorder(table, testHistory(table));
    this.#observed = new ObservedPods(table, this.#wakeups);
    this.#resizes = new ResizeStatuses(table, clock);
    const nothing = (): undefined => undefined;
    this.#wakeups.connect({
      loop: {
        requestSync: nothing,
        askToStart: nothing,
        wake: nothing,
        resume: nothing,
        requestHousekeeping: nothing,
      },
      reader: { requestRead: () => void this.read(), readWhenQuiet: nothing },
      allocations: { noteEnded: nothing },
      nodeAgent: undefined,
      storage: { requestLook: nothing, retryPod: nothing, retryDriver: nothing },
      cpuReconciler: { requestLook: nothing },
      csiAllocatable: undefined,
    });
  }

  /** One sync of what the runtime shows now. */
  async sync(cancel: AbortSignal = signal): Promise<{ readonly terminal: boolean }> {
    const observed = await this.executor.read(this.pod);
    const { pod, progress } = this;
    const request = { updateType: "sync", pod, mirrorPod: undefined, observed, progress } as const;
    return this.executor.clock.run(syncPod(this.syncDeps, request, cancel));
  }

  get progress(): { readonly changed: () => void; readonly unchanged: () => void } {
    return {
      changed: () => void this.calls.push("changed"),
      unchanged: () => void this.calls.push("unchanged"),
    };
  }

  get syncDeps(): SyncPodDeps {
    const { executor, networkProblem } = this;
    return {
      ...this.endDeps,
      executor: executor.deps,
      records: {
        allocated: this.allocated,
        actuated: executor.actuated,
        resizes: this.#resizes,
      },
      table: executor.table,
      cgroups: { exists: () => this.hasCgroup },
      health: { networkProblem },
      credentials: { of: () => anonymous },
      wakeups: this.#wakeups,
    };
  }

  get endDeps(): EndPodDeps {
    return {
      executor: this.executor.deps,
      statuses: this.statuses.statuses,
      stages: [this.#stage],
      recorder: this.#recorder,
      observed: this.#observed,
      wakeups: this.#wakeups,
    };
  }

  get status(): PodStatus {
    return this.statuses.statuses.get(this.pod.metadata.uid) ?? {};
  }

  get newestRecord(): SyncRecord | undefined {
    return this.#recorder.last(this.pod.metadata.uid);
  }

  /** The steps of the newest record. */
  get steps(): readonly RecordedStep[] {
    return this.newestRecord?.steps ?? [];
  }

  /** The calls of the runtime since this was asked last. */
  takeRuntimeCalls(): readonly string[] {
    return this.executor.runtime.calls.splice(0).map(({ method }) => method);
  }

  /** A sandbox that a call has made which timed out; its id. */
  async addLeftover(attempt: number): Promise<string> {
    const { runtime, deps } = this.executor;
    const config = await deps.start.configs.sandboxConfig(this.pod, attempt);
    if (!config.ok) throw new Error(config.error);
    const id = await runtime.runPodSandbox(config.value, "", signal);
    runtime.calls.length = 0;
    return id;
  }

  /** What the runtime shows now becomes the pod's observed state. */
  async read(): Promise<void> {
    const { clock } = this.executor;
    const observed = await this.executor.read(this.pod);
    this.#observed.set(this.pod.metadata.uid, observed, clock.monotonicMs() + 1);
  }
}
