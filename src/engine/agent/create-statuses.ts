import type { PodRegistry } from "../pods/pod-registry.ts";
import type { Prober } from "../probes/prober.ts";
import type { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import { PodStatuses, type PodStatusesDeps } from "../status/pod-statuses.ts";
import { StatusManager, type StatusManagerDependencies } from "../status/status-manager.ts";
import type { AgentPorts, AgentSettings } from "./agent-ports.ts";

export interface StatusParts {
  readonly ports: AgentPorts;
  readonly settings: AgentSettings;
  readonly registry: PodRegistry;
  readonly allocations: PodAllocations;
  readonly prober: Prober;
  readonly cgroups: () => NodePodCgroups;
  readonly hostIps: () => readonly string[];
  readonly onDecision: PodStatusesDeps["onDecision"];
  readonly onChange: StatusManagerDependencies["onChange"];
  readonly onTermination: NonNullable<StatusManagerDependencies["onTermination"]>;
}

export function createStatuses(parts: StatusParts): PodStatuses {
  const { ports, settings, registry, allocations, prober, cgroups, hostIps } = parts;
  const { clock, log } = ports;
  const manager = new StatusManager({
    clock,
    pods: {
      findByUid: (uid) => registry.get(uid),
      findMirrorOf: (pod) => registry.mirrorOf(pod),
    },
    onChange: parts.onChange,
    onTermination: parts.onTermination,
  });
  return new PodStatuses({
    manager,
    clock,
    log,
    probes: {
      view: (uid) => prober.view(uid),
      probeNow: (uid, name) => prober.probeNow(uid, name),
    },
    resizes: allocations.resizes,
    podCgroup: (pod) => cgroups().inForce(pod),
    hostIps,
    primaryIpFamily: settings.hostIps[0]?.includes(":") === true ? 6 : 4,
    onDecision: parts.onDecision,
  });
}
