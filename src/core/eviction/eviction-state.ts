import type { Pod } from "../../model/pod.ts";
import type { PodStats, Summary } from "../../model/stats-summary.ts";
import { withContainerFsThresholds } from "./container-fs-thresholds.ts";
import { type EvictionCause, evictionMessage } from "./eviction-message.ts";
import { hasDiskLimits, planLocalStorageEvictions } from "./local-storage.ts";
import {
  type MetSince,
  mergeThresholds,
  metSince,
  metThresholds,
  pastGracePeriod,
  withNewStats,
} from "./met-thresholds.ts";
import { type Observations, observeSignals } from "./observations.ts";
import type { ThresholdList } from "./parse-thresholds.ts";
import { immediateGraceSeconds, type PodEviction } from "./pod-eviction.ts";
import { type NodeReclaim, nodeReclaims, rankPods, type StatsOfPod } from "./rank-pods.ts";
import { isMemorySignal, type NodePressure, signalPressure, signalResource } from "./signal.ts";
import { type FsLayout, isHardThreshold, type Threshold } from "./threshold.ts";

export interface EvictionPolicy {
  /** How long a pressure is still reported after it was last seen. */
  readonly pressureTransitionMs: number;
  /** The longest grace period of a pod that goes for a soft threshold. */
  readonly maxPodGraceSeconds: number;
  /** Whether pods are held to their disk limits. */
  readonly localStorageIsolation: boolean;
  /** Pods that stay, however short the node is. */
  readonly isSpared: (pod: Pod) => boolean;
}

/** What is remembered from one synchronization to the next. */
export interface EvictionState extends ThresholdList {
  /** Undefined until the filesystems were measured. */
  readonly layout?: FsLayout | undefined;
  /** What the node is short of, or was a short while ago. */
  readonly pressures: readonly NodePressure[];
  readonly pressureSeenAtMs: ReadonlyMap<NodePressure, number>;
  readonly metSince: readonly MetSince[];
  /** The thresholds that call for action and are not yet cleared. */
  readonly thresholdsMet: readonly Threshold[];
  readonly lastObservations: Observations;
}

/** What the node looks like now. */
export interface NodeLook {
  readonly nowMs: number;
  readonly layout: FsLayout;
  /** Undefined when the statistics cannot be had. */
  readonly summary: Summary | undefined;
  readonly activePods: readonly Pod[];
}

/** A threshold that has to be cleared: by reclaiming node resources and, if that is not enough, by evicting a pod. */
export interface Shortage {
  readonly threshold: Threshold;
  readonly cause: EvictionCause;
  readonly reclaims: readonly NodeReclaim[];
  readonly layout: FsLayout;
  readonly activePods: readonly Pod[];
  readonly statsOf: StatsOfPod;
}

type EvictionDecision =
  | { readonly kind: "nothing" }
  | { readonly kind: "evict"; readonly evictions: readonly PodEviction[] }
  | { readonly kind: "reclaim"; readonly shortage: Shortage };

export interface EvictionStep {
  readonly state: EvictionState;
  readonly decision: EvictionDecision;
  /** A setting that the layout of the filesystems overrides. */
  readonly conflict?: string | undefined;
}

const nothing: EvictionDecision = { kind: "nothing" };

export function initialEvictionState(list: ThresholdList): EvictionState {
  return {
    ...list,
    pressures: [],
    pressureSeenAtMs: new Map(),
    metSince: [],
    thresholdsMet: [],
    lastObservations: new Map(),
  };
}

/** Whether there is anything to watch. */
export function isEvictionIdle({ thresholds }: EvictionState, policy: EvictionPolicy): boolean {
  return thresholds.length === 0 && !policy.localStorageIsolation;
}

/** Whether a look must show what each pod uses, also where the node is short of nothing. */
export function needsPodStats(policy: EvictionPolicy, pods: readonly Pod[]): boolean {
  return policy.localStorageIsolation && pods.some(hasDiskLimits);
}

/** Takes in one observation of the node and returns what it requires. */
export function stepEviction(
  state: EvictionState,
  policy: EvictionPolicy,
  look: NodeLook,
): EvictionStep {
  if (isEvictionIdle(state, policy)) return { state, decision: nothing };
  const { state: laidOut, considered, conflict } = withLayout(state, look.layout);
  if (look.summary === undefined) return { state: laidOut, decision: nothing, conflict };
  const observations = observeSignals(look.summary);
  const next = observed(laidOut, considered, { observations, nowMs: look.nowMs, policy });
  const statsOf = statsByUid(look.summary);
  const layout = next.layout ?? look.layout;
  const evictions = policy.localStorageIsolation
    ? planLocalStorageEvictions(
        look.activePods.filter((pod) => !policy.isSpared(pod)),
        statsOf,
        layout,
      )
    : [];
  if (evictions.length > 0)
    return { state: next, decision: { kind: "evict", evictions }, conflict };
  const urgent = byUrgency(
    withNewStats(next.thresholdsMet, observations, laidOut.lastObservations),
  );
  const [threshold] = urgent;
  if (threshold === undefined) return { state: next, decision: nothing, conflict };
  const resource = signalResource(threshold.signal);
  const shortage: Shortage = {
    threshold,
    cause: { resource, thresholds: urgent, observations },
    reclaims: nodeReclaims(threshold.signal, layout),
    layout,
    activePods: look.activePods,
    statsOf,
  };
  return { state: next, decision: { kind: "reclaim", shortage }, conflict };
}

/** Whether nothing is short any more, by statistics taken after node resources were reclaimed. */
export function isRelieved({ thresholds }: EvictionState, summary: Summary | undefined): boolean {
  if (summary === undefined) return false;
  return metThresholds(thresholds, observeSignals(summary), { withMinReclaim: true }).length === 0;
}

/** The one pod that goes for a shortage; undefined when none may. */
export function planEviction(
  { threshold, cause, layout, activePods, statsOf }: Shortage,
  policy: EvictionPolicy,
): PodEviction | undefined {
  const ranked = rankPods(activePods, statsOf, threshold.signal, layout);
  const pod = ranked.find((candidate) => !policy.isSpared(candidate));
  if (pod === undefined) return undefined;
  const { terminationGracePeriodSeconds = policy.maxPodGraceSeconds } = pod.spec;
  return {
    pod,
    graceSeconds: isHardThreshold(threshold)
      ? immediateGraceSeconds
      : Math.min(policy.maxPodGraceSeconds, terminationGracePeriodSeconds),
    ...evictionMessage(pod, statsOf(pod), cause),
    isDisruption: true,
    signal: threshold.signal,
  };
}

/** The first look still goes by the configured thresholds alone. */
function withLayout(
  state: EvictionState,
  layout: FsLayout,
): {
  readonly state: EvictionState;
  readonly considered: readonly Threshold[];
  readonly conflict?: string | undefined;
} {
  if (state.layout !== undefined) return { state, considered: state.thresholds };
  const { thresholds, firstLook, conflict } = withContainerFsThresholds(state, layout);
  return { state: { ...state, thresholds, layout }, considered: firstLook, conflict };
}

function observed(
  state: EvictionState,
  considered: readonly Threshold[],
  {
    observations,
    nowMs,
    policy,
  }: {
    readonly observations: Observations;
    readonly nowMs: number;
    readonly policy: EvictionPolicy;
  },
): EvictionState {
  const met = mergeThresholds(
    metThresholds(considered, observations, { withMinReclaim: false }),
    metThresholds(state.thresholdsMet, observations, { withMinReclaim: true }),
  );
  const since = metSince(met, state.metSince, nowMs);
  const pressureSeenAtMs = new Map(state.pressureSeenAtMs);
  for (const { signal } of met) pressureSeenAtMs.set(signalPressure(signal), nowMs);
  return {
    ...state,
    metSince: since,
    thresholdsMet: pastGracePeriod(since, nowMs),
    pressureSeenAtMs,
    pressures: [...pressureSeenAtMs]
      .filter(([, seenAtMs]) => nowMs - seenAtMs < policy.pressureTransitionMs)
      .map(([pressure]) => pressure),
    lastObservations: observations,
  };
}

/** Memory comes first: without it nothing else can be cleared. */
function byUrgency(thresholds: readonly Threshold[]): Threshold[] {
  return [
    ...thresholds.filter(({ signal }) => isMemorySignal(signal)),
    ...thresholds.filter(({ signal }) => !isMemorySignal(signal)),
  ];
}

function statsByUid({ pods }: Summary): StatsOfPod {
  const byUid = new Map<string, PodStats>(pods.map((stats) => [stats.podRef.uid, stats]));
  return ({ metadata }) => byUid.get(metadata.uid);
}
