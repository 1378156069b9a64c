import type { GcItem, GcOptions } from "../model/gc-item.ts";
import type { EphemeralContainer, Event } from "../model/generated/kubernetes.ts";
import type { Holding, NodeDescription, NodeImage, RehearsedPod } from "../model/holding.ts";
import type { PodUid } from "../model/ids.ts";
import type { Pod } from "../model/pod.ts";
import type { Summary } from "../model/stats-summary.ts";
import type { HistoryView } from "./history.ts";
import type { SourceProblem } from "./pod-source.ts";
import type { SyncRecord } from "./sync-record.ts";

/** What a server may see of the agent and ask of it. Pods carry their current status. */
export interface AgentView {
  info(): AgentInfo;
  listPods(): readonly Pod[];
  findPod(namespace: string, name: string): Pod | undefined;
  /** Calls back for every change from now on, until `signal` aborts. */
  watchPods(onChange: (change: PodChange) => void, signal: AbortSignal): void;
  listEvents(podUid?: PodUid): readonly Event[];
  problems(): readonly SourceProblem[];
  ignoredFiles(): readonly string[];
  /** What happened here, also before this agent and to pods that are gone. */
  readonly history: HistoryView;
  explain(podUid: PodUid, signal: AbortSignal): Promise<PodExplanation>;
  /** The lines of a recording of what was decided about one pod or all, and from what; `berth replay` decides it again. */
  recording(podUid?: PodUid): Iterable<string>;
  /** Where a container's log lies; undefined when there is none (yet). */
  findLog(
    pod: Pod,
    container: string,
    previous: boolean,
    signal: AbortSignal,
  ): Promise<ContainerLog | undefined>;
  /** The runtime's streaming URL for an exec; only ever loopback. */
  execUrl(pod: Pod, request: ExecOptions, signal: AbortSignal): Promise<URL>;
  /** The same for a connection to what a container's own process reads and writes. */
  attachUrl(pod: Pod, request: AttachOptions, signal: AbortSignal): Promise<URL>;
  /** The same for connections to these ports of a pod. */
  portForwardUrl(pod: Pod, ports: readonly number[], signal: AbortSignal): Promise<URL>;
  /** Calls back for every sync that is recorded from now on, until `signal` aborts. */
  watchSyncs(onSync: (record: SyncRecord) => void, signal: AbortSignal): void;
  /** Gives a pod another list of ephemeral containers, which was validated; resolves when it is kept for good. */
  setEphemeralContainers(pod: Pod, containers: readonly EphemeralContainer[]): Promise<Pod>;
  /** What the node, its pods and their containers use. */
  readStats(signal: AbortSignal): Promise<Summary>;
  /** The node's resources, and who has what of them for itself. */
  describeNode(): NodeDescription;
  /** The images that the runtime has, the largest first. */
  listImages(signal: AbortSignal): Promise<readonly NodeImage[]>;
  /** What would become of these pods if they came now. */
  rehearse(pods: readonly Pod[]): Promise<readonly RehearsedPod[]>;
  /** What is no longer needed and would be removed. */
  planGc(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]>;
  /** Removes it now; returns what was selected for removal. */
  collectGarbage(options: GcOptions, signal: AbortSignal): Promise<readonly GcItem[]>;
}

export interface AgentInfo {
  readonly version: string;
  readonly nodeName: string;
  readonly runtime: string;
  readonly runtimeEndpoint: string;
  /** How changes in the runtime are received. */
  readonly observer: "cri" | "containerd" | "polling";
  readonly startedAtMs: number;
}

export interface PodChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly pod: Pod;
}

export interface ContainerLog {
  readonly path: string;
  /** The container no longer writes: a follower may end at the end of the file. */
  readonly finished: () => Promise<boolean>;
}

export interface AttachOptions {
  readonly container: string;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface ExecOptions extends AttachOptions {
  readonly command: readonly string[];
}

/** The answer to `berth why`: wanted, seen, decided, awaited. */
export interface PodExplanation {
  readonly pod: Pod;
  readonly workerState: string;
  /** Newest first. */
  readonly syncs: readonly SyncRecord[];
  readonly holds?: readonly Holding[] | undefined;
  /** What the agent waits for, each with the moment it acts by itself, where there is one. */
  readonly awaiting: readonly Awaited[];
}

export interface Awaited {
  readonly what: string;
  readonly untilMs?: number | undefined;
}
