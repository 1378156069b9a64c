import { withoutLeftovers } from "../../core/observe/classify-pod.ts";
import { type PlanTerminationInput, planTermination } from "../../core/pod/plan-end.ts";
import { killedStatus } from "../../core/status/killed-status.ts";
import type { PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import { type EndExecutorDeps, executePlan } from "../execute/execute-plan.ts";
import { restorePod } from "../execute/restore-pod.ts";
import { failuresText, type StepReport } from "../execute/step-report.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import type { PodStatuses } from "../status/pod-statuses.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";
import {
  noteStopped,
  noteStopping,
  type PodStage,
  releaseStages,
  StageError,
} from "./pod-stage.ts";
import type { SyncTerminatedPodRequest, SyncTerminatingPodRequest } from "./pod-syncer.ts";
import { howEnded, syncRecord } from "./sync-record.ts";

export interface EndPodDeps {
  readonly executor: EndExecutorDeps;
  readonly statuses: PodStatuses;
  /** What a pod needed before its containers, in order. */
  readonly stages: readonly PodStage[];
  readonly recorder: FlightRecorder;
  readonly observed: Pick<ObservedPods, "follow" | "getNewerThan">;
  readonly wakeups: Pick<Wakeups, "read">;
}

/** Only the runtime knows the pod: no source waits for it to end well. */
const unwantedGraceSeconds = 1;

/** Stops everything of a pod; resolves only when nothing of it runs, and its status says how it ended. */
export async function syncTerminatingPod(
  deps: EndPodDeps,
  { pod, observed, graceSeconds, killReason, progress }: SyncTerminatingPodRequest,
  signal: AbortSignal,
): Promise<void> {
  const show = (seen: ObservedPod): void => {
    const computed = deps.statuses.compute(pod, withoutLeftovers(seen), { isTerminal: false });
    deps.statuses.set(
      pod,
      killReason === undefined ? computed : killedStatus(computed, killReason),
    );
  };
  show(observed);
  noteStopping(deps.stages, pod);
  // Containers end one by one, some long before others: each end is reported at once, the last with that of the pod.
  let left = countRunning(observed);
  const unfollow = deps.observed.follow(pod.metadata.uid, (seen) => {
    const running = countRunning(seen);
    if (running === 0 || running >= left) return;
    left = running;
    show(seen);
  });
  const input = { pod, observed, graceSeconds, isWanted: true };
  const reports = await runTermination(deps, input, signal).finally(unfollow);
  progress.changed();
  const stoppedAtMs = deps.executor.kill.clock.monotonicMs();
  failUnlessKilled(deps, pod, reports);
  const stopped = await readStopped(deps, pod.metadata.uid, stoppedAtMs, signal);
  await runStages(deps, { kind: "terminating", pod, observed: stopped }, signal, () =>
    noteStopped(deps.stages, pod),
  );
  // A stopped sandbox has no addresses any more, but the pod's status keeps those it had.
  const ended = { ...withoutLeftovers(stopped), ips: observed.ips };
  deps.statuses.set(pod, deps.statuses.compute(pod, ended, { isTerminal: true }));
}

/** Stops a pod that no source has any more and of which only the runtime knows. */
export async function syncTerminatingRuntimePod(
  deps: EndPodDeps,
  runningPod: ObservedPod,
  signal: AbortSignal,
): Promise<void> {
  const pod = await restorePod(deps.executor.kill.runtime, runningPod, signal);
  const graceSeconds = unwantedGraceSeconds;
  const input = { pod, observed: runningPod, graceSeconds, isWanted: false };
  const reports = await runTermination(deps, input, signal);
  failUnlessKilled(deps, pod, reports);
  deps.wakeups.read(runningPod.uid);
}

async function runTermination(
  { executor, recorder }: EndPodDeps,
  input: PlanTerminationInput,
  signal: AbortSignal,
): Promise<readonly StepReport[]> {
  const { pod, observed } = input;
  const { clock } = executor.kill;
  const startedAtMs = clock.nowMs();
  const plan = planTermination(input);
  recorder.noteDecision({ kind: "termination", atMs: startedAtMs, input, outcome: plan });
  const { reports, error } = await executePlan(executor, { pod, observed, plan }, signal);
  const end = howEnded(error, signal);
  const work = { kind: "terminating", observed, startedAtMs, reports, ...end } as const;
  recorder.record(syncRecord(pod.metadata, work, clock.nowMs()));
  if (error !== undefined) throw error;
  return reports;
}

/** Releases what an ended pod held; its status becomes final. */
export async function syncTerminatedPod(
  deps: EndPodDeps,
  { pod, observed }: SyncTerminatedPodRequest,
  signal: AbortSignal,
): Promise<void> {
  const known = withoutLeftovers(observed);
  deps.statuses.set(pod, deps.statuses.compute(pod, known, { isTerminal: true }));
  await runStages(deps, { kind: "terminated", pod, observed }, signal, async () => {
    await releaseStages(deps.stages, pod, signal);
    deps.statuses.terminate(pod);
  });
}

interface StageWork {
  readonly kind: "terminating" | "terminated";
  readonly pod: Pod;
  readonly observed: ObservedPod;
}

/** Throws what a stage threw, for the worker to judge. */
async function runStages(
  deps: EndPodDeps,
  { kind, pod, observed }: StageWork,
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  const { clock } = deps.executor.kill;
  const startedAtMs = clock.nowMs();
  let error: unknown;
  try {
    await run();
  } catch (thrown) {
    error = thrown;
  }
  // That the pod was stopped is recorded already.
  if (error === undefined && kind === "terminating") return;
  const end = howEnded(error, signal);
  const work = { kind, observed, startedAtMs, reports: [], ...end } as const;
  deps.recorder.record(syncRecord(pod.metadata, work, clock.nowMs()));
  if (error !== undefined) throw error instanceof StageError ? error.cause : error;
}

function countRunning({ containers }: ObservedPod): number {
  return containers.filter(({ state }) => state === "running").length;
}

async function readStopped(
  deps: EndPodDeps,
  uid: PodUid,
  stoppedAtMs: number,
  signal: AbortSignal,
): Promise<ObservedPod> {
  const stopped = await deps.observed.getNewerThan(uid, stoppedAtMs, signal);
  const running = stopped.containers.filter(({ state }) => state === "running");
  if (running.length > 0) {
    const ids = running.map(({ id }) => id).join(" ");
    throw new Error(`containers run after they were stopped: ${ids}`);
  }
  return stopped;
}

function failUnlessKilled(deps: EndPodDeps, pod: Pod, reports: readonly StepReport[]): void {
  const failures = failuresText(reports);
  if (failures === undefined) return;
  deps.wakeups.read(pod.metadata.uid);
  const message = `error killing pod: ${failures}`;
  deps.executor.kill.events.record(pod, { type: "Warning", reason: "FailedKillPod", message });
  throw new Error(message);
}
