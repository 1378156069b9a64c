import {
  effectiveResources,
  isResizeInProgress,
} from "../../core/allocation/actuated-resources.ts";
import { resizeMessage } from "../../core/allocation/resize-message.ts";
import { withoutLeftovers } from "../../core/observe/classify-pod.ts";
import { planPod } from "../../core/pod/plan-pod.ts";
import { resultsOf } from "../../core/probe/results-of.ts";
import { deadlineExceeded } from "../../core/status/active-deadline.ts";
import { withCondition } from "../../core/status/condition-list.ts";
import { readyToStartContainersCondition } from "../../core/status/conditions.ts";
import { networkNotReadyMessage } from "../../core/worker/requeue.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import { type ExecutorDeps, executePlan } from "../execute/execute-plan.ts";
import type { ActuatedRecord } from "../execute/resize-pod.ts";
import { SpanLog } from "../execute/span.ts";
import { countSteps, failuresText, type StepReport } from "../execute/step-report.ts";
import type { PullCredentials } from "../images/pull-credentials.ts";
import type { RuntimeHealth } from "../observe/runtime-health.ts";
import { notProbed } from "../probes/probe-view.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import type { PodResourceRecords } from "../resources/allocation/resource-records.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import { rejectPod } from "../status/reject-pod.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";
import { type PodStage, type PodToPrepare, prepareStages } from "./pod-stage.ts";
import {
  PodRejection,
  PodSyncError,
  type RuntimeProgress,
  type SyncPodRequest,
} from "./pod-syncer.ts";
import type { PodTable } from "./pod-table.ts";
import { howEnded, syncRecord } from "./sync-record.ts";

export interface SyncPodDeps {
  readonly executor: ExecutorDeps;
  readonly statuses: PodStatuses;
  readonly records: Pick<PodResourceRecords, "actuated" | "resizes"> & {
    readonly allocated: Pick<PodResourceRecords["allocated"], "flush">;
  };
  /** Has what the probes found. */
  readonly table: Pick<PodTable, "get">;
  readonly cgroups: Pick<NodePodCgroups, "exists">;
  /** What a pod needs before its containers, in order. */
  readonly stages: readonly PodStage[];
  readonly recorder: FlightRecorder;
  readonly health: Pick<RuntimeHealth, "networkProblem">;
  readonly credentials: Pick<PullCredentials, "of">;
  readonly wakeups: Pick<Wakeups, "look" | "read" | "readWhenQuiet">;
}

const noResources = { containers: new Map<string, never>() };

/**
 * The node's recipe for one pod that is to run: status, network, the stages, then the plan. What is missing ends the
 * sync with an error that says so; the worker comes back.
 */
export async function syncPod(
  deps: SyncPodDeps,
  { pod, observed, progress }: SyncPodRequest,
  signal: AbortSignal,
): Promise<{ readonly terminal: boolean }> {
  const known = withoutLeftovers(observed);
  const { clock, events } = deps.executor.kill;
  noteResizeProgress(resizeDeps(deps), pod, known);
  const status = deps.statuses.compute(pod, known, { isTerminal: false });
  deps.statuses.set(pod, status);
  if (status.phase === "Succeeded" || status.phase === "Failed") {
    const { reason, message } = deadlineExceeded;
    if (status.reason === reason) events.record(pod, { type: "Normal", reason, message });
    return { terminal: true };
  }
  const startedAtMs = clock.nowMs();
  let done: PlanOutcome = { reports: [] };
  const prepared = new SpanLog(clock);
  let error: unknown;
  try {
    const runs = known.containers.some(({ state }) => state === "running");
    const runsOutsideCgroup = runs && !deps.cgroups.exists(pod);
    // What runs outside the cgroup is stopped first: nothing is prepared for it.
    if (!runsOutsideCgroup) {
      const request = { pod, observed: known, spans: prepared };
      await Promise.all([prepare(deps, request, signal), deps.records.allocated.flush()]);
    }
    // The status knows the node's own addresses for a pod that shares its network.
    const ips = (status.podIPs ?? []).map(({ ip }) => ip);
    const request = { pod, observed: { ...observed, ips }, status, progress, runsOutsideCgroup };
    done = await runPlan(deps, request, signal);
    error = done.error;
  } catch (thrown) {
    error = thrown;
  }
  const { reports } = done;
  const end = howEnded(error, signal);
  const work = {
    kind: "sync",
    observed,
    startedAtMs,
    prepared: prepared.spans,
    reports,
    ...end,
  } as const;
  deps.recorder.record(syncRecord(pod.metadata, work, clock.nowMs()));
  if (error instanceof PodRejection) {
    rejectPod({ ...deps.executor.kill, statuses: deps.statuses }, pod, error);
    return { terminal: true };
  }
  if (error !== undefined) throw error;
  throwFailures(done);
  return { terminal: false };
}

async function prepare(
  deps: SyncPodDeps,
  request: PodToPrepare,
  signal: AbortSignal,
): Promise<void> {
  const { networkProblem } = deps.health;
  const { pod } = request;
  if (networkProblem !== undefined && pod.spec.hostNetwork !== true) {
    const message = `${networkNotReadyMessage}: ${networkProblem}`;
    deps.executor.kill.events.record(pod, { type: "Warning", reason: "NetworkNotReady", message });
    throw new PodSyncError(message);
  }
  await prepareStages(deps.stages, request, signal);
}

interface PlanRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly status: PodStatus;
  readonly progress: RuntimeProgress;
  readonly runsOutsideCgroup: boolean;
}

interface PlanOutcome {
  readonly reports: readonly StepReport[];
  readonly recheckAtMs?: number | undefined;
  /** What ended the plan before its last step. */
  readonly error?: unknown;
}

async function runPlan(
  deps: SyncPodDeps,
  { pod, observed, status, progress, runsOutsideCgroup }: PlanRequest,
  signal: AbortSignal,
): Promise<PlanOutcome> {
  const { uid } = pod.metadata;
  const containerIds = observed.containers.map(({ id }) => id);
  const { executor, records, wakeups } = deps;
  const { restarts, kill } = executor;
  const nowMs = kill.clock.nowMs();
  const { results } = deps.table.get(uid)?.probes ?? notProbed;
  const input = {
    pod,
    observed,
    nowMs,
    livenessResults: resultsOf(results.liveness, containerIds),
    startupResults: resultsOf(results.startup, containerIds),
    restartAllContainers: (status.conditions ?? []).some(
      (condition) => condition.type === "AllContainersRestarting" && condition.status === "True",
    ),
    actuatedResources: records.actuated.get(uid) ?? noResources,
    restarts: { history: restarts.historyOf(pod, observed), limits: restarts.limits },
    runsOutsideCgroup,
  };
  const plan = planPod(input);
  deps.recorder.noteDecision({ kind: "plan", atMs: nowMs, input, outcome: plan });
  let hasNewSandbox = false;
  try {
    const { reports, error } = await executePlan(
      executor,
      {
        pod,
        observed,
        plan,
        starting: {
          deps: executor,
          pullCredentials: deps.credentials.of(pod),
          onSandboxReady: () => {
            wakeups.readWhenQuiet(uid);
            hasNewSandbox = true;
            deps.statuses.set(pod, withSandbox(pod, deps.statuses.get(uid) ?? pod.status ?? {}));
          },
        },
      },
      signal,
    );
    if (error !== undefined) return { reports, error };
    countSteps(kill.metrics, pod, reports);
    const known = withoutLeftovers(observed);
    lookAgainIfResized(resizeDeps(deps), pod, known);
    const hasResizeFailed = noteResizeErrors(resizeDeps(deps), pod, reports);
    // People should see at once why a container does not start, not with the next sync.
    if (deps.statuses.noteStarts(uid, reports) || hasResizeFailed) {
      const status = deps.statuses.compute(pod, known, { isTerminal: false });
      deps.statuses.set(pod, hasNewSandbox ? withSandbox(pod, status) : status);
    }
    return { reports, recheckAtMs: plan.recheckAtMs };
  } finally {
    // Also after an abort: something may have been started.
    if (plan.steps.length > 0) {
      progress.changed();
      wakeups.read(uid);
    } else {
      progress.unchanged();
    }
  }
}

/** One error for all that failed or waits, with the time at which the first of the back-offs ends. */
function throwFailures({ reports, recheckAtMs }: PlanOutcome): void {
  const message = failuresText(reports);
  if (message === undefined) return;
  const failures = reports.filter(({ kind, failure }) => kind !== "wait" && failure !== undefined);
  const retries = failures.flatMap(({ failure }) => failure?.retryAtMs ?? []);
  if (retries.length < failures.length) throw new PodSyncError(message);
  throw new PodSyncError(message, Math.min(recheckAtMs ?? Number.POSITIVE_INFINITY, ...retries));
}

function resizeDeps({ executor, records, wakeups }: SyncPodDeps): SyncResizeDeps {
  const { actuated, resizes } = records;
  return { actuated, resizes, events: executor.kill.events, wakeups };
}

/** Images and hooks may take their time: that the network is there is reported before, and before it is seen. */
function withSandbox(pod: Pod, status: PodStatus): PodStatus {
  const condition = readyToStartContainersCondition(pod, true);
  return { ...status, conditions: withCondition(status.conditions ?? [], condition) };
}

interface SyncResizeDeps {
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
