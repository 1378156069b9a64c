import type { PodUid } from "../model/ids.ts";
import type { ContainerKind } from "../model/pod.ts";
import type { SyncRecord } from "./sync-record.ts";

/**
 * What happened on the node, as it lies on disk and as clients get it. Times are milliseconds since 1970. Texts that pods or
 * others wrote are cut to a bounded length; nothing of an object's data, environment or command is in it.
 */
export type HistoryEntry =
  | SyncEntry
  | StatusEntry
  | EventEntry
  | GoneEntry
  | NodeSample
  | NodeEventEntry
  | AgentEntry;

export type HistoryKind = HistoryEntry["kind"];

/** What belongs to one pod. */
export type PodEntry = Extract<HistoryEntry, { readonly uid: PodUid }>;

interface OfPod {
  readonly atMs: number;
  readonly uid: PodUid;
  /** namespace/name */
  readonly pod: string;
}

/** A sync with the reasons and outcomes of its steps. `atMs` is when it began. */
export interface SyncEntry
  extends OfPod,
    Pick<SyncRecord, "durationMs" | "seen" | "prepared" | "steps" | "error" | "cancelled"> {
  readonly kind: "sync";
  readonly work: SyncRecord["kind"];
}

/** The pod as others saw it from now on, whole: each one replaces the one before it. */
export interface StatusEntry extends OfPod {
  readonly kind: "status";
  /** The columns READY, STATUS and RESTARTS of `berth get pods`. */
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly phase: string;
  readonly reason?: string | undefined;
  /** What it waits for, or why it has ended. */
  readonly message?: string | undefined;
  readonly ip?: string | undefined;
  readonly createdMs?: number | undefined;
  /** Since when it is to be gone. */
  readonly deletingMs?: number | undefined;
  /** In the order of the spec: init, regular, ephemeral. */
  readonly containers: readonly ContainerMoment[];
  /** Those that are not as a healthy pod has them: not True, or of a resize. */
  readonly conditions: readonly ConditionMoment[];
}

export interface ContainerMoment {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly isSidecar?: true | undefined;
  readonly image?: string | undefined;
  /** As its probes find it. */
  readonly ready: boolean;
  readonly started?: boolean | undefined;
  readonly restarts: number;
  readonly state: ContainerRun;
  /** How the run before this one ended. */
  readonly last?: ContainerRun | undefined;
  /** What it was granted, such as { cpu: "100m", memory: "64Mi" }. */
  readonly resources?: Readonly<Record<string, string>> | undefined;
}

export interface ContainerRun {
  readonly is: "waiting" | "running" | "terminated";
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly startedMs?: number | undefined;
  readonly finishedMs?: number | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: number | undefined;
}

export interface ConditionMoment {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** An event of a pod; one that comes again is an entry again, with the count so far. */
interface EventEntry extends OfPod {
  readonly kind: "event";
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly container?: string | undefined;
  readonly count: number;
}

/** Nothing of the pod is left on the node. */
interface GoneEntry extends OfPod {
  readonly kind: "gone";
}

/** What the node used, about once a minute. */
export interface NodeSample {
  readonly kind: "node";
  readonly atMs: number;
  /** Cores in use, such as 0.25. */
  readonly cpuCores?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly memoryAvailableBytes?: number | undefined;
  readonly diskUsedBytes?: number | undefined;
  readonly diskCapacityBytes?: number | undefined;
  readonly pods: number;
  /** What the node is short of: MemoryPressure, DiskPressure, PIDPressure. */
  readonly pressures: readonly string[];
}

/** An event of the node itself: an eviction threshold, a collection, an out-of-memory kill. */
interface NodeEventEntry {
  readonly kind: "node-event";
  readonly atMs: number;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The agent started (and knows of no pod yet), stopped, or lost entries that it could not write. */
export interface AgentEntry {
  readonly kind: "agent";
  readonly atMs: number;
  readonly what: "started" | "stopped" | "lost";
  readonly version?: string | undefined;
  /** How many entries were lost. */
  readonly lost?: number | undefined;
}

/** Which entries are asked for. All bounds are optional and hold together. */
export interface HistoryQuery {
  readonly uid?: PodUid | undefined;
  readonly kinds?: readonly HistoryKind[] | undefined;
  /** Not older than this. */
  readonly sinceMs?: number | undefined;
  /** Not newer than this. */
  readonly untilMs?: number | undefined;
  /** At most so many; the answer says where it goes on. */
  readonly limit?: number | undefined;
  /** `next` of the answer before. */
  readonly before?: string | undefined;
}

export interface HistoryPage {
  /** Newest first, in the order in which they were written. */
  readonly items: readonly HistoryEntry[];
  /** There are older ones: ask again with it as `before`. */
  readonly next?: string | undefined;
  /** The oldest that is kept of anything; undefined = nothing is kept. */
  readonly oldestMs?: number | undefined;
  /** What could not be read: each a sentence that names the file. */
  readonly problems: readonly string[];
}

/** A pod that history knows. */
export interface HistoryPod {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
  /** Its oldest and newest entries that are kept. */
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** When nothing of it was left; undefined = it is on the node. */
  readonly goneMs?: number | undefined;
  /** As it was last seen. */
  readonly last?: StatusEntry | undefined;
}

export interface HistoryPods {
  /** Newest `lastSeenMs` first. */
  readonly items: readonly HistoryPod[];
  /** Older ones were left out: there are more than an answer has. */
  readonly isCut: boolean;
  readonly oldestMs?: number | undefined;
  readonly problems: readonly string[];
}

/** The node as it was at one time. */
export interface HistoryMoment {
  readonly atMs: number;
  /** False = that time is not kept: it is before `oldestMs`, or the agent did not run. */
  readonly isKnown: boolean;
  readonly oldestMs?: number | undefined;
  /** The newest sample up to then, not older than ten minutes. */
  readonly node?: NodeSample | undefined;
  /** The pods that were there, by namespace and name. */
  readonly pods: readonly StatusEntry[];
}

/** What a server may ask of history. Everything is read from disk when it is asked for. */
export interface HistoryView {
  pods(signal: AbortSignal): Promise<HistoryPods>;
  entries(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage>;
  at(timeMs: number, signal: AbortSignal): Promise<HistoryMoment>;
}

/** What lies on disk of a time: all that followed from the entries up to then. */
export interface StoredMoment {
  /** The newest status of each pod that was not gone. */
  readonly pods: readonly StatusEntry[];
  readonly node?: NodeSample | undefined;
  readonly agent?: AgentEntry | undefined;
  /** When the newest entry was made of any kind; undefined = nothing is kept of that time. */
  readonly newestMs?: number | undefined;
  readonly oldestMs?: number | undefined;
}

/**
 * Where history is kept, within bounds that the driver knows: the oldest entries go first. Nothing of it can hold up or end the
 * agent: what cannot be written waits for a while, and is dropped and counted after that.
 */
export interface HistoryStore {
  /** Returns at once; written in order, soon. */
  append(entry: HistoryEntry): void;
  /** Gives the statuses of all pods that are here now: they are kept again from time to time, so that older entries can go. */
  keep(statuses: () => Iterable<StatusEntry>): void;
  entries(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage>;
  pods(signal: AbortSignal): Promise<HistoryPods>;
  moment(timeMs: number, signal: AbortSignal): Promise<StoredMoment>;
  /** Resolves when everything appended so far is written, or could not be. */
  flush(): Promise<void>;
}
