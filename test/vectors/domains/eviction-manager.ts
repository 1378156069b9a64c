import {
  type EvictionState,
  initialEvictionState,
  isRelieved,
  planEviction,
  stepEviction,
} from "../../../src/core/eviction/eviction-state.ts";
import {
  type EvictionStatements,
  parseThresholds,
} from "../../../src/core/eviction/parse-thresholds.ts";
import {
  evictedReason,
  evictionKill,
  type PodEviction,
} from "../../../src/core/eviction/pod-eviction.ts";
import { admitUnderPressure } from "../../../src/core/eviction/pressure-admission.ts";
import type { FsLayout } from "../../../src/core/eviction/threshold.ts";
import { isCriticalPod } from "../../../src/core/resource/critical.ts";
import { killedStatus } from "../../../src/core/status/killed-status.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { Summary } from "../../../src/model/stats-summary.ts";
import { withoutNulls } from "../encodings.ts";
import { decodeSummary, encodeThresholds } from "../eviction-encodings.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Step {
  readonly now: number;
  readonly summary: unknown;
  readonly summaryAfterReclaim?: unknown;
  readonly activePods: readonly string[];
  readonly admit?: Pod;
}

interface Input extends EvictionStatements, FsLayout {
  readonly maxPodGracePeriodSeconds: number;
  readonly pressureTransitionPeriodSeconds: number;
  readonly localStorageCapacityIsolation: boolean;
  readonly pods: readonly Pod[];
  readonly steps: readonly Step[];
}

const startMs = Date.parse("2026-05-04T10:00:00Z");

export const evictionManager: VectorDomain = vectorDomain<Input>("eviction-manager", (input) => {
  const parsed = parseThresholds(input);
  if (!parsed.ok) return { error: parsed.error };
  let state = initialEvictionState(parsed.value);
  const steps = input.steps.map((step) => {
    const result = runStep(input, state, step);
    state = result.state;
    return { ...result.expected, ...encodeState(state), ...encodeAdmission(step, state) };
  });
  return { steps };
});

function runStep(input: Input, before: EvictionState, step: Step) {
  const policy = {
    pressureTransitionMs: input.pressureTransitionPeriodSeconds * 1000,
    maxPodGraceSeconds: input.maxPodGracePeriodSeconds,
    localStorageIsolation: input.localStorageCapacityIsolation,
    isSpared: isCriticalPod,
  };
  const summary = optionalSummary(step.summary);
  const { state, decision } = stepEviction(before, policy, {
    nowMs: startMs + step.now * 1000,
    layout: input,
    summary,
    activePods: step.activePods.flatMap((name) =>
      input.pods.filter(({ metadata }) => metadata.name === name).map(withoutNulls),
    ),
  });
  switch (decision.kind) {
    case "nothing":
      return { state, expected: encodeEvictions([]) };
    case "evict":
      return { state, expected: encodeEvictions(decision.evictions) };
    case "reclaim": {
      const { reclaims, cause } = decision.shortage;
      const after =
        step.summaryAfterReclaim === undefined
          ? summary
          : optionalSummary(step.summaryAfterReclaim);
      const isDone = reclaims.length > 0 && isRelieved(state, after);
      const eviction = isDone ? undefined : planEviction(decision.shortage, policy);
      const encoded = encodeEvictions(eviction === undefined ? [] : [eviction]);
      const event = {
        object: "Node/node-a",
        type: "Warning",
        reason: "EvictionThresholdMet",
        message: `Attempting to reclaim ${cause.resource}`,
      };
      return {
        state,
        expected: { ...encoded, events: [event, ...encoded.events], reclaim: reclaims },
      };
    }
  }
}

function optionalSummary(summary: unknown): Summary | undefined {
  return summary === null ? undefined : decodeSummary(summary);
}

function encodeEvictions(evictions: readonly PodEviction[]) {
  return {
    evicted: evictions.map(({ pod }) => pod.metadata.name),
    kills: evictions.map((eviction) => ({
      pod: eviction.pod.metadata.name,
      evict: true,
      gracePeriodOverride: eviction.graceSeconds,
      status: killedStatus({}, evictionKill(eviction)),
    })),
    events: evictions.map(({ pod, message, annotations }) => ({
      object: `Pod/${pod.metadata.name}`,
      type: "Warning",
      reason: evictedReason,
      message,
      annotations,
    })),
    reclaim: [],
  };
}

function encodeState({ pressures, thresholdsMet }: EvictionState) {
  return {
    memoryPressure: pressures.includes("MemoryPressure"),
    diskPressure: pressures.includes("DiskPressure"),
    pidPressure: pressures.includes("PIDPressure"),
    thresholdsMet: encodeThresholds(thresholdsMet),
  };
}

function encodeAdmission({ admit }: Step, { pressures }: EvictionState) {
  if (admit === undefined) return {};
  const result = admitUnderPressure(withoutNulls(admit), pressures);
  return { admit: result.admit ? { admit: true, reason: "", message: "" } : result };
}
