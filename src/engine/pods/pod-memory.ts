import { podsDirectory } from "../../core/paths/data-paths.ts";
import { isEndedByShutdown } from "../../core/shutdown/shutdown-status.ts";
import { withKeptCounts } from "../../core/status/kept-counts.ts";
import { isTerminalPhase } from "../../core/status/phase.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodSourceName } from "../../model/pod-source.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { StatusCheckpoints } from "../status/status-checkpoints.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";
import type { NodeHistory } from "../view/node-history.ts";
import type { PodChanges } from "../view/pod-changes.ts";
import { EphemeralContainers } from "./ephemeral-containers.ts";
import type { ManagedPod, PodTable } from "./pod-table.ts";

export interface PodMemoryDeps {
  readonly table: PodTable;
  readonly files: HostFiles;
  readonly rootFolder: string;
  readonly log: Log;
  readonly recorder: FlightRecorder;
  readonly history: Pick<NodeHistory, "noteGone">;
  readonly changes: PodChanges;
}

/** What the agent keeps of pods beyond its own life. */
export class PodMemory {
  readonly recorder: FlightRecorder;
  readonly checkpoints: StatusCheckpoints;
  readonly ephemeral: EphemeralContainers;
  readonly #history: PodMemoryDeps["history"];
  readonly #table: PodTable;

  constructor(deps: PodMemoryDeps) {
    const { recorder, rootFolder, table, history } = deps;
    this.#history = history;
    this.#table = table;
    const podsFolder = podsDirectory(rootFolder);
    this.recorder = recorder;
    this.checkpoints = new StatusCheckpoints({
      ...deps,
      folder: `${rootFolder}/statuses`,
      podsFolder,
    });
    this.ephemeral = new EphemeralContainers({ ...deps, folder: `${rootFolder}/ephemeral` });
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
    // The API server remembers its pods, but may not have received yet that one has ended.
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
  async remove(uid: PodUid): Promise<void> {
    this.#history.noteGone(uid);
    await this.ephemeral.remove(uid);
    this.recorder.forget(uid);
    // It may have come back meanwhile under its UID, been refused, and gone again: that is the status of its next life.
    const { wanted, leaving } = this.#table.get(uid) ?? {};
    if (wanted !== undefined || leaving !== undefined) return;
    await this.checkpoints.remove(uid);
  }
}

/** Whether the disk has anything of the agent's own about the pod. */
export function hasFiles({ checkpoint, ephemeral }: ManagedPod): boolean {
  return checkpoint !== undefined || ephemeral !== undefined;
}
