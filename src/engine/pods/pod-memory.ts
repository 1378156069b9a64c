import { isEndedByShutdown } from "../../core/shutdown/shutdown-status.ts";
import { withKeptCounts } from "../../core/status/kept-counts.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import type { Event } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSourceName } from "../../model/pod-source.ts";
import type { AgentPorts, AgentSettings } from "../agent/agent-ports.ts";
import type { StatusCheckpoints } from "../status/status-checkpoints.ts";
import { EventLog } from "../view/event-log.ts";
import { FlightRecorder } from "../view/flight-recorder.ts";
import { EphemeralContainers } from "./ephemeral-containers.ts";
import type { ManagedPod } from "./managed-pod.ts";
import type { PodTable } from "./pod-table.ts";

export interface PodMemoryDeps {
  readonly table: PodTable;
  readonly ports: Pick<AgentPorts, "clock" | "log" | "files" | "journal">;
  readonly settings: Pick<AgentSettings, "rootFolder" | "nodeName">;
  readonly checkpoints: StatusCheckpoints;
  readonly onEvent: (event: Event) => void;
}

/** What the agent keeps of pods beyond one sync, most of it beyond its own life. */
export class PodMemory {
  readonly events: EventLog;
  readonly recorder: FlightRecorder;
  readonly checkpoints: StatusCheckpoints;
  readonly ephemeral: EphemeralContainers;

  constructor({ table, ports, settings, checkpoints, onEvent }: PodMemoryDeps) {
    const { clock, log, files, journal } = ports;
    this.events = new EventLog({ table, clock, host: settings.nodeName, onEvent });
    this.recorder = new FlightRecorder(table, journal);
    this.checkpoints = checkpoints;
    const folder = `${settings.rootFolder}/ephemeral`;
    this.ephemeral = new EphemeralContainers(table, files, folder, log);
  }

  async load(): Promise<void> {
    await this.checkpoints.load();
    await this.ephemeral.load();
  }

  /** The pod as a source has it, with what only this node knows of it. */
  restore(pod: Pod, source: PodSourceName): Pod {
    if (source !== "api") {
      const known = this.checkpoints.restore(pod);
      return this.ephemeral.restore(isEndedByShutdown(known.status) ? pod : known);
    }
    // The API server remembers its pods, but may not have heard yet that one has ended.
    const kept = this.checkpoints.restore(pod);
    const hasEnded = isTerminalPhase(kept.status?.phase) && !isTerminalPhase(pod.status?.phase);
    if (hasEnded) return kept;
    // Nor how often its containers were restarted.
    const inherited = this.checkpoints.inherited(pod.metadata.uid);
    if (inherited === undefined) return pod;
    return { ...pod, status: withKeptCounts(pod.status ?? {}, inherited) };
  }

  /**
   * Nothing else of the pod is left. The checkpoint goes last: by it the next agent finds a pod of which something could
   * not be removed.
   */
  async remove(uid: string): Promise<void> {
    await this.ephemeral.remove(uid);
    await this.recorder.remove(uid);
    await this.checkpoints.remove(uid);
  }
}

/** Whether the disk has anything of the agent's own about the pod. */
export function hasFiles({ checkpoint, ephemeral, records }: ManagedPod): boolean {
  return checkpoint !== undefined || ephemeral !== undefined || (records?.syncs.length ?? 0) > 0;
}
