import { restartMarginMs } from "../../core/probe/probe-worker.ts";
import type { ProbeView } from "../../core/status/probed-readiness.ts";
import type { ProbeKind } from "../../model/probe.ts";
import type { PodProbing, RunningProbe } from "../pods/pod-table.ts";

/**
 * The start of the agent as probes count it: containers that started more than the margin before it ran under the
 * agent before. Statuses outlive the agent here, so that what was ready stays so however young it is: no margin is
 * needed. The times of containers are whole seconds.
 */
export function probeEpochMs(agentStartedAtMs: number): number {
  return Math.floor(agentStartedAtMs / 1000) * 1000 + restartMarginMs;
}

/** What a pod's readiness depends on. */
export function probeView(probing: PodProbing | undefined, agentStartedAtMs: number): ProbeView {
  const { running, results } = probing ?? notProbed;
  const probed = (kind: ProbeKind) =>
    new Set(running.filter((probe) => probe.kind === kind).map(({ container }) => container));
  return {
    agentStartedAtMs: probeEpochMs(agentStartedAtMs),
    readinessProbed: probed("readiness"),
    startupProbed: probed("startup"),
    readinessResults: results.readiness,
    startupResults: results.startup,
  };
}

/** Readiness of that container is in doubt: probe it now. */
export function probeNow(probing: PodProbing | undefined, container: string): void {
  findProbe(probing, container, "readiness")?.trigger();
}

export function findProbe(
  probing: PodProbing | undefined,
  container: string,
  kind: ProbeKind,
): RunningProbe | undefined {
  return probing?.running.find((probe) => probe.container === container && probe.kind === kind);
}

export const notProbed: PodProbing = {
  running: [],
  results: { startup: new Map(), liveness: new Map(), readiness: new Map() },
};
