import { errorText } from "../../lib/error-text.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { StatsProvider } from "../../ports/stats.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { EvictionManager } from "../resources/eviction/eviction-manager.ts";
import type { NodeHistory } from "./node-history.ts";

export interface NodeSamplesDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly history: NodeHistory;
  readonly stats: Pick<StatsProvider, "summary">;
  readonly eviction: Pick<EvictionManager, "pressures">;
  readonly registry: Pick<PodRegistry, "list">;
  readonly sources: Pick<SourceReadiness, "areAllReady">;
}

const sampleMs = 60_000;

/**
 * Notes once a minute what the node uses, until `signal` aborts. What eviction has read moments before is good enough, so
 * that it costs a few reads of files and no call of the runtime.
 */
export async function runNodeSamples(deps: NodeSamplesDeps, signal: AbortSignal): Promise<void> {
  const { clock, history, sources, log } = deps;
  let hasLookedBack = false;
  while (!signal.aborted) {
    await clock.sleep(sampleMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await noteSample(deps, signal);
      if (hasLookedBack || !sources.areAllReady) continue;
      hasLookedBack = true;
      await history.noteVanished(signal);
    } catch (error) {
      if (!signal.aborted) log.debug("cannot note what the node uses", { error: errorText(error) });
    }
  }
}

async function noteSample(deps: NodeSamplesDeps, signal: AbortSignal): Promise<void> {
  const { node } = await deps.stats.summary({ nodeOnly: true }, signal);
  const { usageNanoCores } = node.cpu ?? {};
  deps.history.noteSample({
    cpuCores: usageNanoCores === undefined ? undefined : Math.round(usageNanoCores / 1e6) / 1e3,
    memoryBytes: node.memory?.workingSetBytes,
    memoryAvailableBytes: node.memory?.availableBytes,
    diskUsedBytes: node.fs?.usedBytes,
    diskCapacityBytes: node.fs?.capacityBytes,
    pods: deps.registry.list().length,
    pressures: deps.eviction.pressures,
  });
}
