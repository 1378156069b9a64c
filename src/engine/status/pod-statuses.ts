import { resultsOf } from "../../core/probe/results-of.ts";
import type { Decision } from "../../core/record/decision.ts";
import { activeDeadlineMs, deadlineExceeded } from "../../core/status/active-deadline.ts";
import type { IpFamily } from "../../core/status/addresses.ts";
import type { StartFailure } from "../../core/status/container-statuses.ts";
import { withLastFacts } from "../../core/status/last-facts.ts";
import { computePodStatus, type PodStatusInput } from "../../core/status/pod-status.ts";
import type { ProbeView } from "../../core/status/probed-readiness.ts";
import type { PodCondition, PodStatus } from "../../model/generated/kubernetes.ts";
import type { ObservedPod, ObservedResources } from "../../model/observed.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { isAboutStart, type StepReport } from "../execute/step-report.ts";
import type { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import type { StatusManager } from "./status-manager.ts";

export interface PodStatusesDeps {
  readonly manager: StatusManager;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly probes: {
    /** What the probes of that pod have found. */
    view(podUid: string): ProbeView;
    /** Readiness of that container is in doubt: probe it now. */
    probeNow(podUid: string, containerName: string): void;
  };
  readonly resizes: ResizeStatuses;
  /** What the pod's cgroup is set to, as far as that can be read. */
  readonly podCgroup: (pod: Pod) => ObservedResources | undefined;
  readonly hostIps: () => readonly string[];
  readonly primaryIpFamily: IpFamily;
  /** Hears how every status came about. */
  readonly onDecision: (decision: Decision) => void;
}

/** Computes the status of pods from what is seen and from what recently failed, and keeps it. */
export class PodStatuses {
  readonly #deps: PodStatusesDeps;
  readonly #startFailures = new Map<string, Map<string, StartFailure>>();

  constructor(deps: PodStatusesDeps) {
    this.#deps = deps;
  }

  get(uid: string): PodStatus | undefined {
    return this.#deps.manager.getPodStatus(uid);
  }

  compute(pod: Pod, observed: ObservedPod, life: { readonly isTerminal: boolean }): PodStatus {
    const { manager, clock, probes, hostIps, primaryIpFamily, podCgroup } = this.#deps;
    const { uid } = pod.metadata;
    const cachedStatus = manager.getPodStatus(uid);
    const deadlineMs = activeDeadlineMs(pod, cachedStatus ?? pod.status ?? {});
    const isLate = deadlineMs !== undefined && clock.nowMs() >= deadlineMs;
    const input: PodStatusInput = {
      pod,
      observed,
      cachedStatus,
      isTerminal: life.isTerminal,
      startFailures: this.#startFailures.get(uid) ?? new Map<string, StartFailure>(),
      probes: withStartupProbes(
        pod,
        ownResults(probes.view(uid), observed, cachedStatus ?? pod.status ?? {}),
      ),
      eviction: isLate ? deadlineExceeded : undefined,
      resizeConditions: this.#resizeConditions(uid, life.isTerminal),
      // Only of a pod that runs.
      podCgroup: pod.status?.phase === "Running" ? podCgroup(pod) : undefined,
      hostIps: hostIps(),
      primaryIpFamily,
      supportsRecursiveReadOnly: false,
    };
    const outcome = computePodStatus(input);
    this.#deps.onDecision({ kind: "status", atMs: clock.nowMs(), input, outcome });
    const { status, probeNow } = outcome;
    for (const name of probeNow) probes.probeNow(uid, name);
    return withLastFacts(status, cachedStatus ?? pod.status);
  }

  /** Nothing is resized any more once the pod has ended. */
  #resizeConditions(uid: string, isTerminal: boolean): readonly PodCondition[] {
    const { resizes } = this.#deps;
    if (isTerminal) {
      resizes.clearInProgress(uid);
      resizes.clearPending(uid);
    }
    return resizes.podConditions(uid);
  }

  /** In how long to look at the pod again: after `delayMs`, or when its active deadline ends before. */
  lookAgainInMs(pod: Pod, delayMs: number): number {
    const deadlineMs = activeDeadlineMs(pod, this.get(pod.metadata.uid) ?? pod.status ?? {});
    const leftMs = (deadlineMs ?? Number.POSITIVE_INFINITY) - this.#deps.clock.nowMs();
    return leftMs > 0 ? Math.min(delayMs, leftMs) : delayMs;
  }

  set(pod: Pod, status: PodStatus): void {
    const next = this.#deps.manager.setPodStatus(pod, status);
    if (next.kind !== "refused") return;
    this.#deps.log.error("refused a pod status", { pod: podKey(pod), because: next.because });
  }

  /** Takes the result of a readiness probe in. */
  setReady(uid: string, containerId: string, ready: boolean): void {
    this.#deps.manager.setContainerReadiness(uid, containerId, ready);
  }

  /** Takes the result of a startup probe in. */
  setStarted(uid: string, containerId: string, started: boolean): void {
    this.#deps.manager.setContainerStartup(uid, containerId, started);
  }

  /** Keeps why containers did not start, until they do. True when that is news. */
  noteStarts(uid: string, reports: readonly StepReport[]): boolean {
    const before = this.#startFailures.get(uid) ?? new Map<string, StartFailure>();
    const failures = new Map(before);
    for (const { target, failure } of reports.filter(isAboutStart)) {
      if (failure === undefined) failures.delete(target);
      else failures.set(target, { reason: failure.code, message: failure.message });
    }
    this.#startFailures.set(uid, failures);
    return [...failures].some(([name, { message }]) => before.get(name)?.message !== message);
  }

  /** The status becomes final. */
  terminate(pod: Pod): void {
    this.#deps.manager.terminatePod(pod);
    this.#startFailures.delete(pod.metadata.uid);
  }

  forget(uid: string): void {
    this.#deps.manager.forget(uid);
    this.#startFailures.delete(uid);
  }

  /** Forgets all pods but these. */
  keepOnly(uids: ReadonlySet<string>): void {
    this.#deps.manager.removeOrphanedStatuses(uids);
    for (const uid of this.#startFailures.keys()) {
      if (!uids.has(uid)) this.#startFailures.delete(uid);
    }
  }
}

/** The results that bear on this pod, which do not change any more. */
function ownResults(view: ProbeView, observed: ObservedPod, told: PodStatus): ProbeView {
  const ids = new Set(observed.containers.map(({ id }) => id));
  for (const { containerID } of [
    ...(told.containerStatuses ?? []),
    ...(told.initContainerStatuses ?? []),
  ]) {
    if (containerID !== undefined) ids.add(containerID);
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
