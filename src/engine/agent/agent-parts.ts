import { NodeRoom } from "../intake/node-room.ts";
import { PodAdmission } from "../intake/pod-admission.ts";
import { PodUpdates } from "../intake/pod-updates.ts";
import { Preemption } from "../intake/preemption.ts";
import { SourceIntake } from "../intake/source-intake.ts";
import { Housekeeping } from "../loop/housekeeping.ts";
import { NextLives } from "../loop/next-lives.ts";
import { SyncLoop } from "../loop/sync-loop.ts";
import { ContainerCheckpoints, NodeHost } from "../node/node-host.ts";
import { Observer } from "../observe/observer.ts";
import { PodReader } from "../observe/pod-reader.ts";
import { PodAllocations } from "../resources/allocation/pod-allocations.ts";
import { NodeResources } from "../view/node-resources.ts";
import { NodeView } from "../view/node-view.ts";
import { AgentBase, type FieldsOf } from "./agent-base.ts";
import type { AgentPorts } from "./agent-ports.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { DeviceParts } from "./device-parts.ts";
import { NodeParts } from "./node-parts.ts";
import { PodParts, type WithPods } from "./pod-parts.ts";
import { StorageParts } from "./storage-parts.ts";

/** Everything that the agent is made of, flat; no two parts have the same name. */
export type AgentParts = BuiltParts & FieldsOf<LoopParts>;

type BuiltParts = WithPods & FieldsOf<NodeParts>;

/**
 * Constructs everything in the order in which the parts use each other. What must flow back to a part that comes later
 * goes through `Wakeups`, which is connected last.
 */
export function createAgentParts(
  ports: AgentPorts,
  settings: AgentSettings,
  lifetime: AbortSignal,
): AgentParts {
  const base = { ...ports, ...fieldsOf(new AgentBase(ports, settings, lifetime)) };
  const devices = { ...base, ...fieldsOf(new DeviceParts(base)) };
  const storage = { ...devices, ...fieldsOf(new StorageParts(devices)) };
  const pods = { ...storage, ...fieldsOf(new PodParts(storage)) };
  const node = { ...pods, ...fieldsOf(new NodeParts(pods)) };
  const parts = { ...node, ...fieldsOf(new LoopParts(node)) };
  base.wakeups.connect(parts);
  return parts;
}

function fieldsOf<T extends object>(parts: T): FieldsOf<T> {
  return { ...parts };
}

/** What takes pods in, runs the loop around them, observes them and shows them. */
class LoopParts {
  readonly allocations: PodAllocations;
  readonly loop: SyncLoop;
  readonly intake: SourceIntake;
  readonly reader: PodReader;
  readonly observer: Observer;
  readonly view: NodeView;
  readonly host: NodeHost;

  constructor(parts: BuiltParts) {
    const { settings, podSources, cluster, lifetime } = parts;
    const room = createRoom(parts);
    this.allocations = new PodAllocations({ ...parts, room });
    this.loop = createLoop(parts, this.allocations);
    this.intake = new SourceIntake({
      ...parts,
      sources: cluster === undefined ? podSources : [...podSources, cluster.source],
      loop: this.loop,
    });
    const reading = {
      ...parts,
      runtimeName: settings.identity.runtimeName,
      hasStopSignals: settings.runtimeSettings.containerStopSignals,
      messages: parts,
    };
    this.reader = new PodReader({ ...parts, reading }, lifetime);
    this.observer = new Observer({ ...parts, reader: this.reader }, lifetime);
    const { observer, intake } = this;
    const resources = new NodeResources({ ...parts, room });
    this.view = new NodeView({ ...parts, ports: parts, observer, intake, resources });
    const folder = `${parts.rootFolder}/checkpoints`;
    const checkpoints = new ContainerCheckpoints({ ...parts, folder });
    this.host = new NodeHost({ ...parts, loop: this.loop, checkpoints });
  }
}

function createRoom(parts: BuiltParts): NodeRoom {
  const { eviction, shutdown, settings } = parts;
  return new NodeRoom({
    ...parts,
    checks: shutdown === undefined ? [eviction] : [shutdown, eviction],
    facts: settings.node.admission,
    preemption: new Preemption(parts),
  });
}

function createLoop(parts: BuiltParts, allocations: PodAllocations): SyncLoop {
  const { deviceAdmission: devices } = parts;
  const admission = new PodAdmission({ ...parts, ports: parts, allocations, devices });
  const deps = { ...parts, allocations, admission };
  return new SyncLoop({
    ...parts,
    updates: new PodUpdates(deps),
    housekeeping: new Housekeeping({ ...deps, nextLives: new NextLives(deps) }),
  });
}
