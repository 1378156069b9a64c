import type { PodResources } from "../../core/allocation/pod-allocation.ts";
import type { ResizeConditions } from "../../core/allocation/resize-conditions.ts";
import type { PodCertificate } from "../../core/certificate/pod-certificate.ts";
import type { HeldToken } from "../../core/cluster/held-token.ts";
import type { PodReferences } from "../../core/cluster/pod-references.ts";
import type { Decision } from "../../core/record/decision.ts";
import type { RestartHistory } from "../../core/restart/crash-loop-backoff.ts";
import type { PodVolumeStats } from "../../core/stats/volume-stats.ts";
import type { StartFailure } from "../../core/status/container-statuses.ts";
import type { PodMount, WantedVolume } from "../../core/storage/volume-state.ts";
import type { WaitReason } from "../../core/worker/start-gate.ts";
import type { WorkerState } from "../../core/worker/worker-state.ts";
import { assert } from "../../lib/assert.ts";
import type { EphemeralContainer, Event, PodStatus } from "../../model/generated/kubernetes.ts";
import type { PodUid, RuntimeContainerId } from "../../model/ids.ts";
import type { ContainerExit, ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { ProbeKind, ProbeResults } from "../../model/probe.ts";
import type { StatusEntry } from "../../ports/history.ts";
import type { SyncRecord } from "../../ports/sync-record.ts";
import type { PodImages } from "../images/pod-images.ts";

type Slices = { [Name in SliceName]?: PodSlices[Name] | undefined };
type Entry = { readonly uid: PodUid } & Slices;

// Entries that get their fields one by one, in any order, are dictionaries for V8; copies of this one are not.
const noSlices: { readonly [Name in SliceName]: undefined } = {
  actuated: undefined,
  admission: undefined,
  allocated: undefined,
  certificates: undefined,
  checkpoint: undefined,
  devices: undefined,
  due: undefined,
  ephemeral: undefined,
  events: undefined,
  images: undefined,
  leaving: undefined,
  logs: undefined,
  observed: undefined,
  probes: undefined,
  reading: undefined,
  records: undefined,
  references: undefined,
  removal: undefined,
  report: undefined,
  resize: undefined,
  restarts: undefined,
  shown: undefined,
  start: undefined,
  storage: undefined,
  status: undefined,
  tokens: undefined,
  unfit: undefined,
  volumeUsage: undefined,
  wanted: undefined,
  worker: undefined,
};

/** The right to write one slice of every pod. */
export interface SliceWriter<Name extends SliceName> {
  get(uid: PodUid): PodSlices[Name] | undefined;
  /** Undefined takes the slice away; a value makes an entry for a pod that has none. */
  set(uid: PodUid, value: PodSlices[Name] | undefined): void;
  /** Of all pods that have the slice, in the order in which the pods came. Slices may be set meanwhile. */
  entries(): IterableIterator<readonly [uid: PodUid, value: PodSlices[Name]]>;
}

/** The pods of the node: the only map keyed by pod UID in the engine. */
export class PodTable {
  readonly #pods = new Map<PodUid, Entry>();
  readonly #written = new Set<SliceName>();

  get(uid: PodUid): ManagedPod | undefined {
    return this.#pods.get(uid);
  }

  /** In the order in which they came. Pods may be forgotten meanwhile. */
  all(): IterableIterator<ManagedPod> {
    return this.#pods.values();
  }

  /** The one writer of that slice: asking twice is a mistake of the program. */
  writer<Name extends SliceName>(name: Name): SliceWriter<Name> {
    assert(!this.#written.has(name), `the slice ${name} has a writer already`);
    this.#written.add(name);
    const pods = this.#pods;
    return {
      get: (uid) => {
        const slices: Slices | undefined = pods.get(uid);
        return slices?.[name];
      },
      set: (uid, value) => {
        const entry: Entry = pods.get(uid) ?? { ...noSlices, uid };
        const slices: Slices = entry;
        slices[name] = value;
        if (value !== undefined) pods.set(uid, entry);
      },
      *entries() {
        for (const entry of pods.values()) {
          const slices: Slices = entry;
          const value = slices[name];
          if (value !== undefined) yield [entry.uid, value];
        }
      },
    };
  }

  /** A slice that is written afterwards begins a new entry. */
  delete(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}

/** What the runtime has of a pod. All times are on the monotonic clock and say when a read of the runtime began. */
export interface Observation {
  /** As last read without an error, empty when the runtime had nothing of the pod; undefined = never read. */
  readonly state?: ObservedPod | undefined;
  /** Why the last read failed. */
  readonly error?: Error | undefined;
  readonly readAtMs?: number | undefined;
  readonly unread?: UnreadPod | undefined;
  /** How its containers ended, by the runtime's container id, where an event said so. */
  readonly exits?: ReadonlyMap<RuntimeContainerId, ContainerExit> | undefined;
  readonly waiters?: ReadonlySet<ReadWaiter> | undefined;
  /** Gets every state that is stored. */
  readonly follower?: ((observed: ObservedPod) => void) | undefined;
}

/** The runtime listed the pod, and nothing is known of it but that: it is not to be taken for absent. */
interface UnreadPod {
  readonly listedAtMs: number;
  /** namespace/name */
  readonly key: string;
  /** Only its own worker still waits for the read. */
  readonly isLate: boolean;
}

interface ReadWaiter {
  readonly minMs: number;
  readonly resolve: () => void;
}

/** The reads of a pod from the runtime, one at a time. */
export interface PodReading {
  /** `again`: another read follows when this one ends. */
  readonly running?: { again: boolean; done: Promise<void> } | undefined;
  /** The last read failed. */
  readonly retry?: { readonly delayMs: number; readonly isWaiting: boolean } | undefined;
  /** It will be read once no worker acts on it. */
  readonly awaitsQuiet?: boolean | undefined;
}

export interface PodProbing {
  readonly running: readonly RunningProbe[];
  /** By container id. */
  readonly results: Readonly<Record<ProbeKind, ProbeResults>>;
}

export interface RunningProbe {
  readonly kind: ProbeKind;
  /** Its name. */
  readonly container: string;
  /** Probes again without waiting for its time. */
  trigger(): void;
  stop(): void;
}

interface DueLook {
  /** On the monotonic clock. */
  readonly atMs?: number | undefined;
  /** As soon as possible, too. */
  readonly isRequested?: boolean | undefined;
}

/** What preemption does with a pod. */
interface PodPreemption {
  /** The pods that end to make room for it, as namespace/name. */
  readonly roomFrom?: readonly string[] | undefined;
  /** It ends to make room: what it holds is promised to the pod with this UID. */
  readonly roomFor?: PodUid | undefined;
}

/** What a pod gets for itself is being handed out. */
interface AwaitedDevices {
  readonly isAwaited: boolean;
}

/** One pod's worker, which makes one call at a time. */
export interface PodWorker {
  readonly uid: PodUid;
  readonly state: WorkerState;
  /** Grows from worker to worker: static pods of one name start in this order. */
  readonly arrival: number;
  /** Why the pod may not start yet, as last asked. */
  readonly waitsFor: WaitReason | undefined;
  /** When the last call ended, on the monotonic clock: what is observed before says nothing about its effect. */
  readonly lastActedAtMs: number;
  /** Of the call in progress. */
  readonly abort: AbortController | undefined;
  /** Ends when there is nothing to do for the pod. */
  readonly running: Promise<void> | undefined;
}

/** What is wanted of the pod, and whether it is taken. */
interface IntakeSlices {
  /** The pod as its source last had it; absent when no source wants it. Writer: `PodRegistry`. */
  readonly wanted: Pod;
  /** The pod as it was refused, where it could not even be given a status. Writer: `PodAdmission`. */
  readonly unfit: Pod;
  /** Absent unless it makes room or room is made for it. Writer: `Preemption`. */
  readonly admission: PodPreemption;
  /** The pod as it was removed, with the time of that, until nothing of it is left. Writer: `PodChanges`. */
  readonly leaving: Pod;
  /** The containers that were added to it while it ran. Writer: `EphemeralContainers`. */
  readonly ephemeral: readonly EphemeralContainer[];
}

/** What is done for the pod, and when next. */
interface WorkerSlices {
  /** Where the pod is in its life, and what is being done for it. Writer: `PodWorkers`. */
  readonly worker: PodWorker;
  /** When the sync loop looks at it next. Writer: `WorkQueue`. */
  readonly due: DueLook;
  /** How long its containers wait after their next end. Writer: `Restarts`. */
  readonly restarts: RestartHistory;
  /** The removal of what it left; absent while it is kept. Writer: `PodRemains`. */
  readonly removal: PodRemoval;
}

/** What the runtime has of the pod, and what is asked of it for the pod. */
interface RuntimeSlices {
  /** What the runtime has of it. Writer: `ObservedPods`. */
  readonly observed: Observation;
  /** The reads of it from the runtime that are in progress or due. Writer: `PodReader`. */
  readonly reading: PodReading;
  /** The probes of its containers. Writer: `Prober`. */
  readonly probes: PodProbing;
  /** The images that it waits for. Writer: `ImageManager`. */
  readonly images: PodImages;
  /** The folder of its logs, once it was prepared. Writer: the folders stage. */
  readonly logs: string;
}

/** What others see of the pod. */
interface StatusSlices {
  /** Its status as the node has it. Writer: `PodStatuses`. */
  readonly status: KnownStatus;
  /** What the API server is to know of its status. Writer: `StatusReporter`. */
  readonly report: PodReport;
  /** Its last events, newest last. Writer: `EventLog`. */
  readonly events: readonly Event[];
  /** As others saw it last, as history has it. Writer: `NodeHistory`. */
  readonly shown: StatusEntry;
  /** How its start went so far; there until it has run. Writer: `PodStartMetrics`. */
  readonly start: PodStart;
}

/** What the pod may use, and what it uses. */
interface ResourceSlices {
  /** The resources that it was granted. Writer: `ResourceRecords` of `PodAllocations`. */
  readonly allocated: PodResources;
  /** The resources that were applied to it in the runtime. Writer: `ResourceRecords` of `PodAllocations`. */
  readonly actuated: PodResources;
  /** Absent unless it waits for CPUs, memory or devices. Writer: `DeviceAdmission`. */
  readonly devices: AwaitedDevices;
  /** Where its resize stands. Writer: `ResizeStatuses`. */
  readonly resize: ResizeConditions;
  /** The volumes it wants, and what of them is mounted. Writer: `VolumeStates`. */
  readonly storage: PodStorage;
  /** What its volumes take. Writer: `VolumeUsage`. */
  readonly volumeUsage: MeasuredVolumes;
}

/** What the pod has of the API server. */
interface ObjectSlices {
  /** The config maps and secrets that it refers to, from its first sync until it has ended. Writer: `ObjectUsers`. */
  readonly references: PodReferences;
  /** Its service account tokens, by request. Writer: `ApiServiceAccountTokens`. */
  readonly tokens: ReadonlyMap<string, HeldToken>;
  /** Its certificates, by volume and source. Writer: `ApiPodCertificates`. */
  readonly certificates: ReadonlyMap<string, PodCertificate>;
}

/** What is remembered of the pod on disk. */
interface MemorySlices {
  /** Its last status on disk; there while its file may be. Writer: `StatusCheckpoints`. */
  readonly checkpoint: PodCheckpoint;
  /** Its last syncs and decisions. Writer: `FlightRecorder`. */
  readonly records: PodRecords;
}

/**
 * All the agent knows of one pod, in slices. A slice has one writer, named in its comment, which holds the slice's
 * `SliceWriter`; everybody may read. A slice is replaced, not changed, unless it is its writer's own running thing.
 * What is only here is gone with the pod's entry: nothing has to be asked to forget it.
 */
interface PodSlices
  extends IntakeSlices,
    WorkerSlices,
    RuntimeSlices,
    StatusSlices,
    ResourceSlices,
    ObjectSlices,
    MemorySlices {}

export interface PodCheckpoint {
  /** Undefined = the file is being removed. */
  readonly newest: PodStatus | undefined;
  /** What the next agent will know of the pod if this one ends now: nothing newer may be shown. */
  readonly written: PodStatus | undefined;
  /** This agent has kept nothing of the pod yet: what is here is from the one before. */
  readonly isInherited: boolean;
  /** The life that this is the status of is over: should the pod come back under its UID, it begins again. */
  readonly isOver: boolean;
  readonly isPending: boolean;
  /** The newest could not be written. */
  readonly hasFailed: boolean;
}

export interface KnownStatus {
  /** Undefined before the first one. */
  readonly current: PodStatus | undefined;
  /** How many there were in this life of the pod. */
  readonly version: number;
  /** It is the last one: nothing of the pod is left. */
  readonly isFinished: boolean;
  /** Why containers did not start, by their names, until they do. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
}

export interface PodReport {
  /** Undefined = nothing more is reported of the pod. */
  readonly wanted: WantedStatus | undefined;
  /** Set while it waits to be sent. */
  readonly pending: "urgent" | "ordinary" | undefined;
  readonly isSending: boolean;
  /** What the API server answered to the last change of the pod, until it shows that or a newer version. */
  readonly answer: Pod | undefined;
  /** This agent had the API server delete the pod: it refuses every question about it. */
  readonly isDeleted: boolean;
}

/** What the API server is to know of a pod. */
export interface WantedStatus {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly isFinished: boolean;
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

export interface PodStart {
  readonly seenMs: number;
  /** When images were pulled for it, in the order in which that ended. */
  readonly pulls: readonly { readonly fromMs: number; readonly untilMs: number }[];
}

export interface PodRecords {
  /** Of this run of the agent, oldest first; they are in history, too. */
  readonly syncs: readonly SyncRecord[];
  /** What history has from agents before, oldest first; undefined = not read yet. */
  readonly earlier?: readonly SyncRecord[] | undefined;
  /** Oldest first, in memory alone. */
  readonly decisions: readonly Decision[];
}

/** The volumes of one pod, by their unique names. */
export interface PodStorage {
  /** Whether its volumes are to be resolved: for the first time, again, or not. */
  readonly resolution: "new" | "due" | "done";
  readonly wanted: ReadonlyMap<string, WantedVolume>;
  /** What is mounted for it, or may be. */
  readonly mounts: ReadonlyMap<string, PodMount>;
  /** Why volumes could not be resolved; taken by the one who waits for them. */
  readonly errors: readonly string[];
  /** The same when it was last tried, for those who ask. */
  readonly problems: readonly string[];
  /** What its volumes wait for, by the names of its spec; there while the pod waits for them. */
  readonly awaited: ReadonlyMap<string, string> | undefined;
  /** How many operations run that may change what is mounted for it. */
  readonly operations: number;
  /**
   * What was asked for last. Before its stages ask for its volumes nothing is mounted for a pod, and what an agent before this
   * one mounted stays: its containers may run.
   */
  readonly asked: "mount" | "unmount" | undefined;
  /** All its volumes could be resolved: what is mounted and not among them is not wanted. */
  readonly isResolved: boolean;
  /** As which it is being resolved. */
  readonly resolving: Pod | undefined;
}

export interface MeasuredVolumes {
  /** `dueAtMs`: when they are measured next, by the monotonic clock. */
  readonly last?: { readonly dueAtMs: number; readonly usage: PodVolumeStats } | undefined;
  readonly running?: Promise<void> | undefined;
}

/** One at a time; `atMs` is on the monotonic clock, and `error` is why the last one failed. */
type PodRemoval =
  | {
      readonly state: "due";
      readonly atMs: number;
      readonly error?: string | undefined;
      /** After which it is tried again; absent before the first failure. */
      readonly delayMs?: number | undefined;
    }
  | {
      readonly state: "running";
      readonly ended: Promise<void>;
      readonly delayMs?: number | undefined;
    }
  | { readonly state: "done" };

type SliceName = keyof PodSlices;

export type ManagedPod = { readonly uid: PodUid } & {
  readonly [Name in SliceName]?: PodSlices[Name] | undefined;
};
