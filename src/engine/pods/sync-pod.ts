import { isOvertaken } from "../../core/observe/overtaken.ts";
import { surplusSandboxes } from "../../core/observe/surplus-sandboxes.ts";
import { planPod } from "../../core/pod/plan-pod.ts";
import { resultsOf } from "../../core/probe/results-of.ts";
import { deadlineExceeded } from "../../core/status/active-deadline.ts";
import { withCondition } from "../../core/status/condition-list.ts";
import { readyToStartContainersCondition } from "../../core/status/conditions.ts";
import { networkNotReadyMessage } from "../../core/worker/requeue.ts";
import { errorText } from "../../lib/error-text.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { NodeDeps } from "../agent/node-deps.ts";
import { rawContainerId } from "../execute/container-id.ts";
import { executePlan } from "../execute/execute-plan.ts";
import { killPod } from "../execute/kill-pod.ts";
import { removeContainer } from "../execute/remove-container.ts";
import { failuresText, type StepReport } from "../execute/step-report.ts";
import { prepareStages } from "./pod-stage.ts";
import { PodSyncError, type RuntimeProgress, type SyncPodRequest } from "./pod-syncer.ts";
import { describeSeen, recordedStep } from "./sync-record.ts";
import { lookAgainIfResized, noteResizeErrors, noteResizeProgress } from "./sync-resize.ts";

const noResources = { containers: new Map<string, never>() };

/**
 * The node's recipe for one pod that is to run: status, network, the stages, then the plan. What is missing ends the
 * sync with an error that says so; the worker comes back.
 */
export async function syncPod(
  deps: NodeDeps,
  { pod, observed, progress }: SyncPodRequest,
  signal: AbortSignal,
): Promise<{ readonly terminal: boolean }> {
  if (await endSurplus(deps, pod, observed)) {
    progress.changed();
    return { terminal: false };
  }
  noteResizeProgress(deps, pod, observed);
  const status = deps.statuses.compute(pod, observed, { isTerminal: false });
  deps.statuses.set(pod, status);
  if (status.phase === "Succeeded" || status.phase === "Failed") {
    const { reason, message } = deadlineExceeded;
    if (status.reason === reason) deps.events.record(pod, { type: "Normal", reason, message });
    return { terminal: true };
  }
  const startedAtMs = deps.clock.nowMs();
  const reports: StepReport[] = [];
  let error: unknown;
  try {
    const [isUntouched] = await Promise.all([
      prepare(deps, pod, observed, signal),
      deps.allocationsKept(),
    ]);
    // The status knows the node's own addresses for a pod that shares its network.
    const ips = (status.podIPs ?? []).map(({ ip }) => ip);
    const request = { pod, observed: { ...observed, ips }, status, progress, isUntouched };
    reports.push(...(await runPlan(deps, request, signal)));
  } catch (thrown) {
    error = thrown;
  }
  const told = error === undefined || signal.aborted ? undefined : errorText(error);
  recordSync(deps, { pod, observed, startedAtMs, reports, error: told });
  if (error !== undefined) throw error;
  throwFailures(reports);
  return { terminal: false };
}

/** Ends what calls made that were given up long ago, before anything is concluded from it. Whether there was any. */
async function endSurplus(deps: NodeDeps, pod: Pod, observed: ObservedPod): Promise<boolean> {
  const sandboxes = surplusSandboxes(observed);
  const containers = observed.containers.filter((each) => isOvertaken(each, observed.containers));
  if (sandboxes.length === 0 && containers.length === 0) return false;
  const { clock, runtime, lifetime, requestRead } = deps;
  const startedAtMs = clock.nowMs();
  const because =
    "a call that was given up made another one after all, and the pod runs without it";
  const reports: StepReport[] = [];
  const report = (action: StepReport["action"], target: string, sinceMs: number): void =>
    void reports.push({ action, target, because, durationMs: clock.nowMs() - sinceMs });
  for (const { id } of sandboxes) {
    const sinceMs = clock.nowMs();
    await runtime.stopPodSandbox(id, lifetime);
    report("KillPodSandbox", podKey(pod), sinceMs);
  }
  for (const { id, name } of containers) {
    const sinceMs = clock.nowMs();
    await removeContainer(deps, rawContainerId(id), { keepLogs: true }, lifetime);
    report("RemoveContainer", name, sinceMs);
  }
  recordSync(deps, { pod, observed, startedAtMs, reports });
  requestRead(pod.metadata.uid);
  return true;
}

interface FinishedSync {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly startedAtMs: number;
  readonly reports: readonly StepReport[];
  readonly error?: string | undefined;
}

/** Keeps for `berth why` what was seen and done. */
function recordSync(
  { clock, recorder }: NodeDeps,
  { pod, observed, startedAtMs, reports, error }: FinishedSync,
): void {
  recorder.record({
    podUid: pod.metadata.uid,
    pod: podKey(pod),
    kind: "sync",
    startedAtMs,
    durationMs: clock.nowMs() - startedAtMs,
    seen: describeSeen(observed),
    steps: reports.filter((report) => !isIdle(report, observed)).map(recordedStep),
    error,
  });
}

/** Whether the pod is in the runtime as it was before. */
async function prepare(
  deps: NodeDeps,
  pod: Pod,
  observed: ObservedPod,
  signal: AbortSignal,
): Promise<boolean> {
  const networkProblem = deps.networkProblem();
  if (networkProblem !== undefined && pod.spec.hostNetwork !== true) {
    const message = `${networkNotReadyMessage}: ${networkProblem}`;
    warn(deps, pod, "NetworkNotReady", message);
    throw new PodSyncError(message);
  }
  const isUntouched = !(await endOutsideCgroup(deps, pod, observed, signal));
  await prepareStages(deps.stages, { pod, observed }, signal);
  return isUntouched;
}

/** Containers that run outside their pod's cgroup escape its limits: they are stopped and start again inside. */
async function endOutsideCgroup(
  deps: NodeDeps,
  pod: Pod,
  observed: ObservedPod,
  signal: AbortSignal,
): Promise<boolean> {
  const isRunning = observed.containers.some(({ state }) => state === "running");
  if (!isRunning || deps.cgroups.exists(pod)) return false;
  const because = "its containers run outside the pod's cgroup";
  await killPod(deps, { pod, observed, because }, signal);
  deps.requestRead(pod.metadata.uid);
  return true;
}

interface PlanRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly status: PodStatus;
  readonly progress: RuntimeProgress;
  readonly isUntouched: boolean;
}

async function runPlan(
  deps: NodeDeps,
  { pod, observed, status, progress, isUntouched }: PlanRequest,
  signal: AbortSignal,
): Promise<readonly StepReport[]> {
  const { uid } = pod.metadata;
  const containerIds = observed.containers.map(({ id }) => id);
  const input = {
    pod,
    observed,
    livenessResults: resultsOf(deps.probes.livenessResults, containerIds),
    startupResults: resultsOf(deps.probes.startupResults, containerIds),
    restartAllContainers: (status.conditions ?? []).some(
      (condition) => condition.type === "AllContainersRestarting" && condition.status === "True",
    ),
    actuatedResources: deps.actuated.get(uid) ?? noResources,
  };
  const plan = planPod(input);
  deps.recorder.noteDecision({ kind: "plan", atMs: deps.clock.nowMs(), input, outcome: plan });
  let hasNewSandbox = false;
  try {
    const reports = await executePlan(
      deps,
      {
        pod,
        observed,
        plan,
        pullCredentials: deps.pullCredentials(pod),
        onSandboxReady: () => {
          deps.readWhenQuiet(uid);
          hasNewSandbox = true;
          deps.statuses.set(pod, withSandbox(pod, deps.statuses.get(uid) ?? pod.status ?? {}));
        },
      },
      signal,
    );
    deps.onSteps(pod, reports);
    lookAgainIfResized(deps, pod, observed);
    const hasResizeFailed = noteResizeErrors(deps, pod, reports);
    // People should see at once why a container does not start, not with the next sync.
    if (deps.statuses.noteStarts(uid, reports) || hasResizeFailed) {
      const told = deps.statuses.compute(pod, observed, { isTerminal: false });
      deps.statuses.set(pod, hasNewSandbox ? withSandbox(pod, told) : told);
    }
    return reports;
  } finally {
    // Also after an abort: something may have been started.
    if (plan.steps.length > 0) {
      progress.changed();
      deps.requestRead(uid);
    } else if (isUntouched) {
      progress.unchanged();
    }
  }
}

/** One error for all failed steps, with the time at which the first of the backoffs ends. */
function throwFailures(reports: readonly StepReport[]): void {
  const message = failuresText(reports);
  if (message === undefined) return;
  const failures = reports.map(({ failure }) => failure).filter((failure) => failure !== undefined);
  const retries = failures.map(({ retryAtMs }) => retryAtMs).filter((ms) => ms !== undefined);
  const allWait = retries.length === failures.length;
  throw new PodSyncError(message, allWait ? Math.min(...retries) : undefined);
}

/** A new pod is "stopped" before it is started, as upstream does, though there is nothing to stop. */
function isIdle({ action }: StepReport, { sandboxes }: ObservedPod): boolean {
  return action === "KillPodSandbox" && sandboxes.length === 0;
}

function warn(deps: NodeDeps, pod: Pod, reason: string, message: string): void {
  deps.events.record(pod, { type: "Warning", reason, message });
}

/** Images and hooks may take their time: that the network is there is told before, and before it is seen. */
function withSandbox(pod: Pod, status: PodStatus): PodStatus {
  const condition = readyToStartContainersCondition(pod, true);
  return { ...status, conditions: withCondition(status.conditions ?? [], condition) };
}
