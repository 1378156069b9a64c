import type { Node } from "../../../model/generated/kubernetes.ts";
import type { ExecutorDeps } from "../../execute/execute-plan.ts";
import { PodAdmission } from "../../intake/pod-admission.ts";
import { PodUpdates } from "../../intake/pod-updates.ts";
import { SourceIntake } from "../../intake/source-intake.ts";
import { SyncLoop } from "../../loop/sync-loop.ts";
import type { PodWorkers } from "../../pods/pod-workers.ts";
import { createAllocations } from "../../resources/allocation/create-allocations.ts";
import type { PodAllocations } from "../../resources/allocation/pod-allocations.ts";
import { PodStatuses } from "../../status/pod-statuses.ts";
import type { AgentParts } from "../agent-parts.ts";
import {
  createExecutor,
  createPodConfigs,
  createPullCredentials,
  type NodeBasics,
} from "../create-executor.ts";
import { createWorkers } from "../create-workers.ts";
import { tidyUp } from "./tidy-up.ts";

export function composeIntake(parts: AgentParts): SourceIntake {
  const { sources, clock, log } = parts.ports;
  return new SourceIntake({
    sources: parts.cluster === undefined ? sources : [...sources, parts.cluster.source],
    objects: parts.localObjects,
    restore: (pod, source) => parts.memory.restore(pod, source),
    clock,
    log,
    events: parts.memory.events,
    faults: parts.faults,
    deliver: (update) => parts.loop.deliver(update),
    onObjects: () => parts.syncAll(),
  });
}

export function composeAllocations(parts: AgentParts): PodAllocations {
  return createAllocations({
    ports: parts.ports,
    settings: parts.settings,
    events: parts.memory.events,
    faults: parts.faults,
    table: parts.table,
    room: {
      fits: (pod, others) => parts.admission.fits(pod, others),
      activePods: () => parts.active.list(),
    },
    sources: parts.readiness,
    wakeups: parts.wakeups,
  });
}

export function composeStatuses(parts: AgentParts): PodStatuses {
  const { clock, log, metrics } = parts.ports;
  const { cluster } = parts;
  return new PodStatuses({
    table: parts.table,
    registry: parts.registry,
    clock,
    log,
    metrics,
    starts: parts.starts,
    cluster,
    checkpoints: parts.checkpoints,
    inputs: {
      clock,
      table: parts.table,
      agentStartedAtMs: parts.startedAtMs,
      resizes: parts.allocations.resizes,
      cgroups: parts.cgroups,
      cluster,
      hostIps: parts.settings.hostIps,
      recorder: parts.memory.recorder,
    },
  });
}

export function composeAdmission(parts: AgentParts): PodAdmission {
  return new PodAdmission({
    table: parts.table,
    workers: parts.workers,
    statuses: parts.statuses,
    observed: parts.observed,
    allocations: parts.allocations,
    node: {
      facts: () => ({ ...parts.settings, node: currentNode(parts) }),
      admitUnderPressure: (pod) => {
        const goingDown = parts.shutdown?.admit();
        return goingDown?.admit === false ? goingDown : parts.eviction.admit(pod);
      },
    },
    ports: parts.ports,
    events: parts.memory.events,
    faults: parts.faults,
    lifetime: parts.signal,
  });
}

/** Labels and taints are the cluster's; what the node has it knows first. */
function currentNode({ cluster, settings }: AgentParts): Node {
  const { node } = cluster ?? {};
  if (node === undefined) return settings.node;
  return { ...node, status: { ...settings.node.status, ...node.status } };
}

export function composeExecutor(parts: AgentParts): ExecutorDeps {
  const { table, images, allocations, cgroups, volumes } = parts;
  const basics = nodeBasics(parts);
  const node = parts.knownNode;
  const objects = parts.cluster?.objects ?? parts.localObjects;
  const configs = createPodConfigs({ ...basics, node, cgroups, volumes, objects });
  return createExecutor({ ...basics, table, images, configs, allocations, cgroups });
}

function nodeBasics({ ports, settings, memory, signal }: AgentParts): NodeBasics {
  return { ports, settings, events: memory.events, lifetime: signal };
}

export function composeWorkers(parts: AgentParts): PodWorkers {
  const { executor, statuses, stages, observed, wakeups } = parts;
  const { recorder } = parts.memory;
  return createWorkers({
    ports: parts.ports,
    sync: {
      executor,
      statuses,
      allocations: parts.allocations,
      table: parts.table,
      cgroups: parts.cgroups,
      stages,
      recorder,
      health: parts.health,
      credentials: createPullCredentials({
        ...nodeBasics(parts),
        objects: parts.cluster?.objects ?? parts.localObjects,
      }),
      wakeups,
    },
    end: { executor, statuses, stages, recorder, observed, wakeups },
    table: parts.table,
    observed,
    events: parts.memory.events,
    faults: parts.faults,
    queue: parts.queue,
    allocations: parts.allocations,
    changes: parts.changes,
    wakeups: parts.wakeups,
  });
}

export function composeLoop(parts: AgentParts): SyncLoop {
  const { clock, log, watchdog } = parts.ports;
  return new SyncLoop({
    table: parts.table,
    updates: composeUpdates(parts),
    workers: parts.workers,
    housekeeping: { run: () => tidyUp(parts) },
    queue: parts.queue,
    health: {
      get problem() {
        const { health, observed } = parts;
        return health.problem ?? (observed.isListed ? undefined : "its pods are not known yet");
      },
    },
    clock,
    log,
    faults: parts.faults,
    progress: watchdog?.progress,
  });
}

function composeUpdates(parts: AgentParts): PodUpdates {
  return new PodUpdates({
    registry: parts.registry,
    sources: parts.readiness,
    admission: parts.admission,
    allocations: parts.allocations,
    workers: parts.workers,
    starts: parts.starts,
    changes: parts.changes,
    cluster: parts.cluster,
    clock: parts.ports.clock,
  });
}
