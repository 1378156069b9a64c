import type { AdmissionResult } from "../../../core/admission/admission.ts";
import {
  type EvictionPolicy,
  type EvictionState,
  type EvictionStep,
  initialEvictionState,
  isEvictionIdle,
  isRelieved,
  needsPodStats,
  planEviction,
  type Shortage,
  stepEviction,
} from "../../../core/eviction/eviction-state.ts";
import { memoryMargins } from "../../../core/eviction/memory-margins.ts";
import type { ThresholdList } from "../../../core/eviction/parse-thresholds.ts";
import {
  evictedReason,
  evictionKill,
  type PodEviction,
} from "../../../core/eviction/pod-eviction.ts";
import { admitUnderPressure } from "../../../core/eviction/pressure-admission.ts";
import type { NodePressure } from "../../../core/eviction/signal.ts";
import { errorText } from "../../../lib/error-text.ts";
import { type Pod, podKey } from "../../../model/pod.ts";
import type { Summary } from "../../../model/stats-summary.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { StatsProvider, SummaryOptions } from "../../../ports/stats.ts";
import type { AgentPorts } from "../../agent/agent-ports.ts";
import type { NodeEvents } from "../../cluster/event-sender.ts";
import type { GarbageCollection } from "../../node/garbage-collection.ts";
import type { ActivePods } from "../../pods/active-pods.ts";
import type { PodWorkers } from "../../pods/pod-workers.ts";
import type { WorkerStates } from "../../pods/worker-states.ts";
import type { NodePodCgroups } from "../pod-cgroups.ts";
import type { ImageFileSystems } from "./image-fs.ts";
import { MemoryWatch } from "./memory-watch.ts";

const lookMs = 10_000;
const cleanupMs = 30_000;
const cleanupGlanceMs = 1_000;

export interface EvictionManagerDeps {
  readonly stats: Pick<StatsProvider, "summary">;
  readonly disks: Pick<ImageFileSystems, "layout">;
  /** What pods were granted counts, not what they ask for now. */
  readonly active: Pick<ActivePods, "listGranted">;
  readonly states: Pick<WorkerStates, "shouldPodBeFinished">;
  readonly workers: Pick<PodWorkers, "killPod">;
  readonly garbage: Pick<GarbageCollection, "reclaim">;
  readonly cgroups: Pick<NodePodCgroups, "rootPath">;
  readonly events: PodEvents;
  readonly nodeEvents: NodeEvents;
  readonly ports: Pick<AgentPorts, "clock" | "log" | "memoryGauge" | "metrics">;
}

/** Looks after the node's memory, disks and process ids: gives up what is unused, and ends pods before the node fails. */
export class EvictionManager {
  readonly #deps: EvictionManagerDeps;
  readonly #memoryWatch: MemoryWatch;
  readonly #policy: EvictionPolicy;
  #state: EvictionState;

  constructor(deps: EvictionManagerDeps, thresholds: ThresholdList, policy: EvictionPolicy) {
    const { clock, memoryGauge: gauge } = deps.ports;
    this.#deps = deps;
    this.#memoryWatch = new MemoryWatch({ gauge, clock, podsCgroup: deps.cgroups.rootPath });
    this.#policy = policy;
    this.#state = initialEvictionState(thresholds);
  }

  /** What the node is short of. */
  get pressures(): readonly NodePressure[] {
    return this.#state.pressures;
  }

  /** Whether the node, as short of something as it is, takes a pod. */
  admit(pod: Pod): AdmissionResult {
    return admitUnderPressure(pod, this.#state.pressures);
  }

  /** Looks every ten seconds, and at once when memory runs short, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (isEvictionIdle(this.#state, this.#policy)) return;
    let isUrgent = false;
    while (!signal.aborted) {
      const evicted = await this.#tryLook(isUrgent, signal);
      try {
        if (evicted.length > 0) await this.#whenCleanedUp(evicted, signal);
        else isUrgent = await this.#memoryWatch.wait(lookMs, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      if (isUrgent) this.#deps.ports.log.info("memory runs short");
    }
  }

  async #tryLook(isUrgent: boolean, signal: AbortSignal): Promise<readonly Pod[]> {
    try {
      return await this.#look(isUrgent, signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#deps.ports.log.error("cannot look after the node's resources", {
          error: errorText(error),
        });
      }
      return [];
    }
  }

  async #look(isUrgent: boolean, signal: AbortSignal): Promise<readonly Pod[]> {
    const { disks } = this.#deps;
    const { clock, log } = this.#deps.ports;
    const layout = this.#state.layout ?? (await disks.layout(signal));
    const reading = this.#memoryWatch.read();
    const pods = this.#deps.active.listGranted();
    const step = async (options: SummaryOptions): Promise<EvictionStep> =>
      stepEviction(this.#state, this.#policy, {
        summary: await this.#summary(options, signal),
        nowMs: clock.nowMs(),
        layout,
        activePods: pods,
      });
    // What pods use is worth knowing only where one of them may have to go.
    const isQuiet = !isUrgent && !needsPodStats(this.#policy, pods);
    const glance = isQuiet ? await step({ nodeOnly: true }) : undefined;
    const { state, decision, conflict } =
      glance?.decision.kind === "nothing" ? glance : await step({ arePodsFresh: isUrgent });
    this.#take(state);
    if (conflict !== undefined)
      log.warn("an eviction threshold is not used", { problem: conflict });
    this.#memoryWatch.arm(reading, memoryMargins(state.thresholds, state.lastObservations));
    switch (decision.kind) {
      case "nothing":
        return [];
      case "evict":
        for (const eviction of decision.evictions) await this.#evict(eviction, signal);
        return decision.evictions.map(({ pod }) => pod);
      case "reclaim":
        return await this.#relieve(decision.shortage, signal);
    }
  }

  #take(state: EvictionState): void {
    const before = this.#state.pressures;
    this.#state = state;
    const now = state.pressures;
    if (now.length === before.length && now.every((pressure) => before.includes(pressure))) return;
    this.#deps.ports.log.info("what the node is short of has changed", { pressures: now });
  }

  /** At most one pod goes per look: what it held may be enough. */
  async #relieve(shortage: Shortage, signal: AbortSignal): Promise<readonly Pod[]> {
    const { nodeEvents, garbage } = this.#deps;
    const { log, metrics, clock } = this.#deps.ports;
    const { resource, thresholds, observations } = shortage.cause;
    log.warn("the node is short of a resource", { resource, signal: shortage.threshold.signal });
    nodeEvents.recordNode({
      type: "Warning",
      reason: "EvictionThresholdMet",
      message: `Attempting to reclaim ${resource}`,
    });
    for (const what of shortage.reclaims) {
      await garbage.reclaim(what, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        log.warn("cannot give up what is unused", { what, error: errorText(error) });
      });
    }
    if (shortage.reclaims.length > 0) {
      if (isRelieved(this.#state, await this.#summary({ arePodsFresh: true }, signal))) {
        log.info("the node has enough again without ending pods", { resource });
        return [];
      }
    }
    if (shortage.activePods.length === 0) {
      log.error("the node is short of a resource, but no pod runs", { resource });
      return [];
    }
    for (const { signal: name } of thresholds) {
      const timeMs = observations.get(name)?.timeMs ?? 0;
      if (timeMs === 0) continue;
      const labels = { eviction_signal: name };
      const ageSeconds = (clock.nowMs() - timeMs) / 1000;
      metrics.observe("kubelet_eviction_stats_age_seconds", ageSeconds, labels);
    }
    const eviction = planEviction(shortage, this.#policy);
    if (eviction === undefined) {
      log.error("the node is short of a resource, but no pod may be ended", { resource });
      return [];
    }
    await this.#evict(eviction, signal);
    return [eviction.pod];
  }

  async #evict(eviction: PodEviction, signal: AbortSignal): Promise<void> {
    const { events, workers } = this.#deps;
    const { log, metrics } = this.#deps.ports;
    const { pod, message, annotations, graceSeconds } = eviction;
    log.warn("evicting a pod", { pod: podKey(pod), message });
    events.record(pod, { type: "Warning", reason: evictedReason, message, annotations });
    const reason = evictionKill(eviction);
    try {
      await workers.killPod(pod, { evict: true, graceSeconds, reason }, signal);
    } catch (error) {
      signal.throwIfAborted();
      // Its worker goes on trying.
      log.warn("an evicted pod did not end in time", { pod: podKey(pod), error: errorText(error) });
    }
    metrics.increment("kubelet_evictions", { eviction_signal: eviction.signal });
  }

  async #summary(options: SummaryOptions, signal: AbortSignal): Promise<Summary | undefined> {
    try {
      return await this.#deps.stats.summary({ ...options, isFresh: true }, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.ports.log.error("cannot read the node's statistics", { error: errorText(error) });
      return undefined;
    }
  }

  async #whenCleanedUp(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps.ports;
    const untilMs = clock.monotonicMs() + cleanupMs;
    while (clock.monotonicMs() < untilMs) {
      await clock.sleep(cleanupGlanceMs, signal);
      if (pods.every(({ metadata }) => this.#deps.states.shouldPodBeFinished(metadata.uid))) return;
    }
    log.warn("evicted pods are not cleaned up yet", { pods: pods.map(podKey) });
  }
}
