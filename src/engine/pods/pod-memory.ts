import { isEndedByShutdown } from "../../core/shutdown/shutdown-status.ts";
import { withKeptCounts } from "../../core/status/kept-counts.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Event } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSourceName } from "../../model/pod-source.ts";
import type { Log } from "../../ports/log.ts";
import type { AgentPorts, AgentSettings } from "../agent/agent-ports.ts";
import type { StatusCheckpoints } from "../status/status-checkpoints.ts";
import { EventLog } from "../view/event-log.ts";
import { FlightRecorder } from "../view/flight-recorder.ts";
import { EphemeralContainers } from "./ephemeral-containers.ts";

type MemoryPorts = Pick<AgentPorts, "clock" | "log" | "files" | "journal">;
type MemorySettings = Pick<AgentSettings, "rootFolder" | "nodeName">;

/** What the agent keeps of pods beyond one sync, most of it beyond its own life. */
export class PodMemory {
  readonly events: EventLog;
  readonly recorder: FlightRecorder;
  readonly checkpoints: StatusCheckpoints;
  readonly ephemeral: EphemeralContainers;
  readonly #log: Log;
  /** Pods whose files are being removed. */
  readonly #forgetting = new Set<string>();

  constructor(
    ports: MemoryPorts,
    settings: MemorySettings,
    checkpoints: StatusCheckpoints,
    onEvent: (event: Event) => void,
  ) {
    const { clock, log, files } = ports;
    const { rootFolder } = settings;
    this.#log = log;
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

  /** Nothing of the pod is left. */
  forget(uid: string): void {
    this.events.forget(uid);
    // Rounds of housekeeping come faster than many removals: each pod's files are removed once.
    if (!this.#forgetting.has(uid)) void this.#forgetKept(uid);
  }

  /** The checkpoint goes last: who is remembered by it is forgotten again where something could not be removed. */
  async #forgetKept(uid: string): Promise<void> {
    this.#forgetting.add(uid);
    try {
      await this.ephemeral.remove(uid);
      await this.recorder.forget(uid);
      await this.checkpoints.remove(uid);
    } catch (error) {
      this.#log.warn("cannot forget a pod, trying again", {
        podUid: uid,
        error: errorText(error),
      });
    } finally {
      this.#forgetting.delete(uid);
    }
  }
}
