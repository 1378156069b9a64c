import { resultsOf } from "../../core/probe/results-of.ts";
import { activeDeadlineMs, deadlineExceeded } from "../../core/status/active-deadline.ts";
import { withLastFacts } from "../../core/status/last-facts.ts";
import { computePodStatus, type PodStatusInput } from "../../core/status/pod-status.ts";
import type { ProbeView } from "../../core/status/probed-readiness.ts";
import type { PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import { containerId, type PodUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { KnownNode } from "../node/known-node.ts";
import type { KnownStatus } from "../pods/managed-pod.ts";
import type { PodTable } from "../pods/pod-table.ts";
import { probeNow, probeView } from "../probes/probe-view.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";

/** What statuses are computed from, beside the pod and what is observed of it. */
export interface ComputeStatusDeps {
  readonly clock: Pick<Clock, "nowMs">;
  /** Has what the probes found. */
  readonly table: Pick<PodTable, "get">;
  readonly agentStartedAtMs: number;
  readonly resizes: Pick<ResizeStatuses, "podConditions" | "clearInProgress" | "clearPending">;
  readonly cgroups: Pick<NodePodCgroups, "inForce">;
  readonly node: Pick<KnownNode, "hostIps" | "primaryIpFamily">;
  readonly recorder: Pick<FlightRecorder, "noteDecision">;
}

export interface ComputedPod {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly isTerminal: boolean;
}

/** The pod's status from what is observed now, what recently failed and what was known before; recorded with its input. */
export function computeStatus(
  deps: ComputeStatusDeps,
  { pod, observed, isTerminal }: ComputedPod,
  known: KnownStatus | undefined,
): PodStatus {
  const { clock, table, agentStartedAtMs, cgroups, node, recorder } = deps;
  const { uid } = pod.metadata;
  const { probes } = table.get(uid) ?? {};
  const cachedStatus = known?.current;
  const before = cachedStatus ?? pod.status ?? {};
  const deadlineMs = activeDeadlineMs(pod, before);
  const isLate = deadlineMs !== undefined && clock.nowMs() >= deadlineMs;
  const input: PodStatusInput = {
    pod,
    observed,
    cachedStatus,
    isTerminal,
    startFailures: known?.startFailures ?? new Map(),
    probes: withStartupProbes(
      pod,
      ownResults(probeView(probes, agentStartedAtMs), observed, before),
    ),
    eviction: isLate ? deadlineExceeded : undefined,
    resizeConditions: resizeConditions(deps, uid, isTerminal),
    // Only of a pod that runs.
    podCgroup: pod.status?.phase === "Running" ? cgroups.inForce(pod) : undefined,
    hostIps: node.hostIps,
    primaryIpFamily: node.primaryIpFamily,
    supportsRecursiveReadOnly: false,
  };
  const outcome = computePodStatus(input);
  recorder.noteDecision({ kind: "status", atMs: clock.nowMs(), input, outcome });
  for (const name of outcome.probeNow) probeNow(probes, name);
  return withLastFacts(outcome.status, cachedStatus ?? pod.status);
}

/** Nothing is resized any more once the pod has ended. */
function resizeConditions(
  { resizes }: ComputeStatusDeps,
  uid: PodUid,
  isTerminal: boolean,
): readonly PodCondition[] {
  if (isTerminal) {
    resizes.clearInProgress(uid);
    resizes.clearPending(uid);
  }
  return resizes.podConditions(uid);
}

/** The results that bear on this pod, in a copy that does not change any more. */
function ownResults(view: ProbeView, observed: ObservedPod, before: PodStatus): ProbeView {
  const ids = new Set(observed.containers.map(({ id }) => id));
  for (const { containerID } of [
    ...(before.containerStatuses ?? []),
    ...(before.initContainerStatuses ?? []),
  ]) {
    if (containerID !== undefined) ids.add(containerId(containerID));
  }
  return {
    ...view,
    readinessResults: resultsOf(view.readinessResults, ids),
    startupResults: resultsOf(view.startupResults, ids),
  };
}

/** The first status of an agent's life is made before its probes begin: what has one to pass has not passed it yet. */
function withStartupProbes(pod: Pod, view: ProbeView): ProbeView {
  const names = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]
    .filter(({ startupProbe }) => startupProbe !== undefined)
    .map(({ name }) => name);
  return { ...view, startupProbed: new Set([...view.startupProbed, ...names]) };
}
