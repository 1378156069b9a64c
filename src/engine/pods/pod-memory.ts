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

type MemoryPorts = Pick<AgentPorts, "clock" | "log" | "files" | "journal">;
type MemorySettings = Pick<AgentSettings, "rootFolder" | "nodeName">;

/** What the agent keeps of pods beyond one sync, most of it beyond its own life. */
export class PodMemory {
  readonly events: EventLog;
  readonly recorder: FlightRecorder;
  readonly checkpoints: StatusCheckpoints;
  readonly ephemeral: EphemeralContainers;

  constructor(
    ports: MemoryPorts,
    settings: MemorySettings,
    checkpoints: StatusCheckpoints,
    onEvent: (event: Event) => void,
  ) {
    const { clock, log, files } = ports;
    const { rootFolder } = settings;
    this.events = new EventLog({ clock, host: settings.nodeName, onEvent });
    this.recorder = new FlightRecorder(ports.journal);
    this.checkpoints = checkpoints;
    this.ephemeral = new EphemeralContainers(files, `${rootFolder}/ephemeral`, log);
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

  /** Whether the disk has anything about the pod. */
  hasFiles({ uid, checkpoint }: ManagedPod): boolean {
    return (
      checkpoint !== undefined || this.ephemeral.has(uid) || this.recorder.last(uid) !== undefined
    );
  }

  /**
   * Nothing else of the pod is left. The checkpoint goes last: by it the next agent finds a pod of which something could
   * not be removed.
   */
  async remove(uid: string): Promise<void> {
    await this.ephemeral.remove(uid);
    await this.recorder.forget(uid);
    await this.checkpoints.remove(uid);
  }
}
