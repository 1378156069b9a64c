import { planPod } from "../../src/core/pod/plan-pod.ts";
import { MemoryFiles } from "../../src/drivers/sim/memory-files.ts";
import { SimRuntime } from "../../src/drivers/sim/sim-runtime.ts";
import { type ExecutorDeps, executePlan } from "../../src/engine/execute/execute-plan.ts";
import { killPod, newSandboxStops } from "../../src/engine/execute/kill-pod.ts";
import { LeftoverEnds } from "../../src/engine/execute/leftover-ends.ts";
import { Restarts } from "../../src/engine/execute/restarts.ts";
import type { StepReport } from "../../src/engine/execute/step-report.ts";
import { ImageManager } from "../../src/engine/images/image-manager.ts";
import type { PodCredentials } from "../../src/engine/images/pull-credentials.ts";
import { readPod } from "../../src/engine/observe/pod-reader.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import { ResourceRecords } from "../../src/engine/resources/allocation/resource-records.ts";
import { ok } from "../../src/lib/result.ts";
import type { ObservedPod } from "../../src/model/observed.ts";
import { type Pod, podContainers } from "../../src/model/pod.ts";
import type { ProbeResults } from "../../src/model/probe.ts";
import type { PodEvent } from "../../src/ports/pod-events.ts";
import { noMetrics } from "../kit/no-metrics.ts";
import { testImagePods } from "../kit/pod-parts.ts";
import { silentLog } from "../kit/silent-log.ts";
import { idleManagers } from "../kit/test-managers.ts";
import { MemoryCgroups } from "./memory-cgroups.ts";
import { SimPodConfigs, simSettings } from "./sim-pod-configs.ts";
import { VirtualClock } from "./virtual-clock.ts";

export interface SyncOptions {
  readonly restartAllContainers?: boolean;
  readonly livenessResults?: ProbeResults;
  readonly signal?: AbortSignal;
}

const neverAborted = new AbortController().signal;
/** Pulls without any login. */
export const anonymous: PodCredentials = {
  version: "",
  find: async () => ok([]),
};

/** The executor with all it needs, on a simulated runtime: what a pod's worker does, without the worker. */
export class ExecutorWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly files: MemoryFiles = new MemoryFiles();
  readonly runtime: SimRuntime;
  /** Everything that was reported of pods, in order. */
  readonly events: PodEvent[] = [];
  readonly cgroups: MemoryCgroups = new MemoryCgroups();
  readonly table: PodTable = new PodTable();
  readonly actuated: ResourceRecords;
  readonly deps: ExecutorDeps;

  constructor(options: { readonly writesLogs: boolean } = { writesLogs: false }) {
    const { clock, files } = this;
    const runtime = new SimRuntime({ clock, files: options.writesLogs ? files : undefined });
    const events = { record: (_pod: unknown, event: PodEvent) => void this.events.push(event) };
    this.runtime = runtime;
    this.actuated = new ResourceRecords({
      slice: this.table.writer("actuated"),
      files,
      log: silentLog,
      path: "/actuated_pods_state",
    });
    const { actuated, cgroups } = this;
    const log = silentLog;
    const configs = new SimPodConfigs();
    const hookHttp = { get: async () => undefined };
    const sandboxStops = newSandboxStops();
    const kill = { runtime, hookHttp, clock, events, metrics: noMetrics, log, sandboxStops };
    this.deps = {
      kill,
      remove: { runtime, files, lifetime: neverAborted },
      start: {
        kill,
        runtime,
        images: new ImageManager({
          ...testImagePods(this.table),
          runtime,
          clock,
          metrics: noMetrics,
          backoff: { initialMs: 10_000, maxMs: 300_000 },
          pulls: { maxParallel: undefined, perSecond: 0, burst: 0 },
        }),
        configs,
        actuated,
        files,
        events,
        logs: { root: simSettings.podLogsRoot, areLinked: true },
        managers: idleManagers(),
        lifetime: neverAborted,
      },
      leftovers: new LeftoverEnds(clock),
      resize: {
        runtime,
        configs,
        cgroups,
        actuated,
        clock,
        metrics: noMetrics,
        log,
        lifetime: neverAborted,
      },
      restarts: new Restarts({ table: this.table, clock }),
    };
  }

  read(pod: Pod): Promise<ObservedPod> {
    const { files, table } = this;
    const readEnd = (path: string, maxBytes: number) => files.readTail(path, maxBytes);
    const { podLogsRoot } = simSettings;
    const messages = { files, foreignFiles: { readEnd }, rootFolder: "/data", podLogsRoot };
    const { runtime, clock } = this;
    const deps = { runtime, clock, runtimeName: "sim", messages, table };
    return readPod(deps, pod.metadata.uid, neverAborted);
  }

  /** One observation, one plan, carried out. */
  async sync(pod: Pod, options: SyncOptions = {}): Promise<readonly StepReport[]> {
    const observed = await this.read(pod);
    const { restarts } = this.deps;
    const plan = planPod({
      pod,
      observed,
      nowMs: this.clock.nowMs(),
      livenessResults: options.livenessResults ?? new Map(),
      startupResults: new Map(),
      restartAllContainers: options.restartAllContainers ?? false,
      actuatedResources: {
        containers: new Map(
          podContainers(pod).map(({ container }) => [container.name, container.resources ?? {}]),
        ),
        pod: pod.spec.resources,
      },
      restarts: { history: restarts.historyOf(pod, observed), limits: restarts.limits },
      runsOutsideCgroup: false,
    });
    const request = {
      pod,
      observed,
      plan,
      starting: { deps: this.deps, pullCredentials: anonymous, onSandboxReady: () => undefined },
    };
    const signal = options.signal ?? neverAborted;
    const { reports, error } = await executePlan(this.deps, request, signal);
    if (error !== undefined) throw error;
    return reports;
  }

  async kill(
    pod: Pod,
    graceOverrideSeconds?: number,
    signal: AbortSignal = neverAborted,
  ): Promise<readonly StepReport[]> {
    const observed = await this.read(pod);
    const because = "it is not wanted any more";
    return killPod(this.deps.kill, { pod, observed, graceOverrideSeconds, because }, signal);
  }
}
