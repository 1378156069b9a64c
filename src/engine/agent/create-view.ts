import type { StatsProvider } from "../../ports/stats.ts";
import { activePulls } from "../images/pod-images.ts";
import type { SourceIntake } from "../intake/source-intake.ts";
import type { GarbageCollection } from "../node/garbage-collection.ts";
import type { Observer } from "../observe/observer.ts";
import type { PodMemory } from "../pods/pod-memory.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import { NodeView } from "../view/node-view.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";
import type { Faults } from "./faults.ts";

export interface ViewParts {
  readonly ports: Pick<AgentPorts, "clock" | "runtime">;
  readonly settings: AgentSettings;
  readonly startedAtMs: number;
  readonly registry: PodRegistry;
  readonly faults: Faults;
  readonly workers: PodWorkers;
  readonly memory: PodMemory;
  readonly table: PodTable;
  readonly observer: Observer;
  readonly intake: SourceIntake;
  readonly garbage: GarbageCollection;
  readonly stats: StatsProvider;
}

/** The agent as others see it. */
export function createView(parts: ViewParts): NodeView {
  const { ports, settings, startedAtMs, registry, workers, memory } = parts;
  const { observer, intake } = parts;
  const { version, nodeName, runtimeName, runtimeVersion, runtimeEndpoint } = settings;
  return new NodeView({
    info: () => ({
      version,
      nodeName,
      runtime: `${runtimeName} ${runtimeVersion}`,
      runtimeEndpoint,
      observer: observer.mode,
      startedAtMs,
    }),
    clock: ports.clock,
    registry,
    faults: parts.faults,
    workers,
    statuses: { get: (uid) => memory.checkpoints.written(uid) },
    recorder: memory.recorder,
    events: memory.events,
    activePulls: (uid) => activePulls(parts.table.get(uid)?.images),
    runtime: ports.runtime,
    observedPod: (uid) => observer.pods.get(uid),
    garbage: parts.garbage,
    stats: parts.stats,
    problems: () => intake.problems,
    ignoredFiles: () => intake.ignoredFiles,
    podLogsRoot: settings.runtimeSettings.podLogsRoot,
    setEphemeralContainers: async (uid, containers) => {
      await memory.ephemeral.set(uid, containers);
      intake.restoreAgain();
    },
  });
}
