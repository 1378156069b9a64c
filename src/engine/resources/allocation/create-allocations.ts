import type { AdmissionResult } from "../../../core/admission/admission.ts";
import { containerSwapBehavior } from "../../../core/cri/swap-limit.ts";
import type { Pod } from "../../../model/pod.ts";
import type { PodEvents } from "../../../ports/pod-events.ts";
import type { AgentPorts, AgentSettings } from "../../agent/agent-ports.ts";
import type { Faults } from "../../agent/faults.ts";
import type { SourceReadiness } from "../../intake/source-readiness.ts";
import type { PodRegistry } from "../../pods/pod-registry.ts";
import { PodAllocations } from "./pod-allocations.ts";

export interface AllocationParts {
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly events: PodEvents;
  readonly faults: Faults;
  readonly registry: PodRegistry;
  readonly fits: (pod: Pod, others: readonly Pod[]) => AdmissionResult;
  readonly activePods: () => readonly Pod[];
  readonly sources: SourceReadiness;
  readonly requestSync: (uid: string) => void;
}

export function createAllocations(parts: AllocationParts): PodAllocations {
  const { ports, settings, events, faults, registry, fits, activePods, sources } = parts;
  const { files, clock, log, metrics } = ports;
  return new PodAllocations({
    files,
    clock,
    log,
    metrics,
    events,
    faults,
    rootFolder: settings.rootFolder,
    resizeFacts: {
      // No pod has CPUs or memory of its own on this node.
      cpuManagerPolicy: "none",
      memoryManagerPolicy: "None",
      mayUseSwap: (pod, container) =>
        containerSwapBehavior(pod, container, settings.runtimeSettings) !== "NoSwap",
    },
    fits,
    activePods,
    findPod: (uid) => registry.get(uid),
    sources,
    onResize: ({ metadata }) => parts.requestSync(metadata.uid),
  });
}
