import { withoutLeftovers } from "../../core/observe/classify-pod.ts";
import { killedStatus } from "../../core/status/killed-status.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { NodeDeps } from "../agent/node-deps.ts";
import { killPod } from "../execute/kill-pod.ts";
import { restorePod } from "../execute/restore-pod.ts";
import { failuresText, type StepReport } from "../execute/step-report.ts";
import { noteStopping, releaseStages } from "./pod-stage.ts";
import type { SyncTerminatedPodRequest, SyncTerminatingPodRequest } from "./pod-syncer.ts";
import { describeSeen, recordedStep } from "./sync-record.ts";

/** Stops everything of a pod; resolves only when nothing of it runs, and its status says how it ended. */
export async function syncTerminatingPod(
  deps: NodeDeps,
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
  const startedAtMs = deps.clock.nowMs();
  const because =
    graceSeconds === undefined
      ? "the pod is ending"
      : `the pod is ending, with ${graceSeconds} s of grace`;
  const request = { pod, observed, graceOverrideSeconds: graceSeconds, because };
  // Containers end one by one, some long before others: each end is told at once, the last with that of the pod.
  let left = countRunning(observed);
  const unfollow = deps.follow(pod.metadata.uid, (seen) => {
    const running = countRunning(seen);
    if (running === 0 || running >= left) return;
    left = running;
    show(seen);
  });
  const reports = await killPod(deps, request, signal).finally(unfollow);
  deps.recorder.record({
    podUid: pod.metadata.uid,
    pod: podKey(pod),
    kind: "terminating",
    startedAtMs,
    durationMs: deps.clock.nowMs() - startedAtMs,
    seen: describeSeen(observed),
    steps: reports.map(recordedStep),
  });
  progress.changed();
  const stoppedAtMs = deps.clock.monotonicMs();
  failUnlessKilled(deps, pod, reports);
  const stopped = await readStopped(deps, pod.metadata.uid, stoppedAtMs, signal);
  // A stopped sandbox has no addresses any more, but the pod's status keeps those it had.
  const ended = { ...withoutLeftovers(stopped), ips: observed.ips };
  deps.statuses.set(pod, deps.statuses.compute(pod, ended, { isTerminal: true }));
}

/** Stops a pod that no source has any more and of which only the runtime knows. */
export async function syncTerminatingRuntimePod(
  deps: NodeDeps,
  runningPod: ObservedPod,
  signal: AbortSignal,
): Promise<void> {
  const pod = await restorePod(deps.runtime, runningPod, signal);
  const because = "no source wants this pod";
  const request = { pod, observed: runningPod, graceOverrideSeconds: 1, because };
  const reports = await killPod(deps, request, signal);
  failUnlessKilled(deps, pod, reports);
  deps.requestRead(runningPod.uid);
}

/** Releases what an ended pod held; its status becomes final. */
export async function syncTerminatedPod(
  deps: NodeDeps,
  { pod, observed }: SyncTerminatedPodRequest,
  signal: AbortSignal,
): Promise<void> {
  const known = withoutLeftovers(observed);
  deps.statuses.set(pod, deps.statuses.compute(pod, known, { isTerminal: true }));
  await releaseStages(deps.stages, pod, signal);
  deps.statuses.terminate(pod);
  deps.recorder.record({
    podUid: pod.metadata.uid,
    pod: podKey(pod),
    kind: "terminated",
    startedAtMs: deps.clock.nowMs(),
    durationMs: 0,
    seen: describeSeen(observed),
    steps: [],
  });
}

function countRunning({ containers }: ObservedPod): number {
  return containers.filter(({ state }) => state === "running").length;
}

async function readStopped(
  deps: NodeDeps,
  uid: string,
  stoppedAtMs: number,
  signal: AbortSignal,
): Promise<ObservedPod> {
  const stopped = await deps.readNewer(uid, stoppedAtMs, signal);
  const running = stopped.containers.filter(({ state }) => state === "running");
  if (running.length > 0) {
    const ids = running.map(({ id }) => id).join(" ");
    throw new Error(`containers run after they were stopped: ${ids}`);
  }
  return stopped;
}

function failUnlessKilled(deps: NodeDeps, pod: Pod, reports: readonly StepReport[]): void {
  const failures = failuresText(reports);
  if (failures === undefined) return;
  deps.requestRead(pod.metadata.uid);
  const message = `error killing pod: ${failures}`;
  deps.events.record(pod, { type: "Warning", reason: "FailedKillPod", message });
  throw new Error(message);
}
