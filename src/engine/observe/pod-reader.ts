import { withExit } from "../../core/observe/exited-status.ts";
import { observePod, type ReadContainer } from "../../core/observe/observe-pod.ts";
import { nextDelayMs } from "../../lib/backoff.ts";
import { isDoneWithin, withDeadline } from "../../lib/deadline.ts";
import { errorText } from "../../lib/error-text.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import {
  type PodUid,
  type RuntimeContainerId,
  rawContainerId,
  runtimeContainerId,
} from "../../model/ids.ts";
import { podNameLabel, podNamespaceLabel, podUidLabel } from "../../model/labels.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { unlessGone } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { RuntimeEvent } from "../../ports/runtime-events.ts";
import type { Faults } from "../agent/faults.ts";
import type { Wakeups } from "../agent/wakeups.ts";
import type { ManagedPod, PodReading, PodTable, SliceWriter } from "../pods/pod-table.ts";
import type { ObservedPods } from "./observed-pods.ts";
import { hasEnded, type ListedPod, listLabelled } from "./runtime-listing.ts";
import { endReaderOf, type MessageFiles, readTerminationMessage } from "./termination-message.ts";

const readDeadlineMs = 30_000;
const retryLimits = { initialMs: 100, maxMs: 5_000 };
/** How long a pod that is being worked on goes unread, however much happens to it. */
const busyReadMs = 1_000;
/** The runtime's status lags behind its exit events: read again until they agree. */
const lagRetriesMs = [10, 15, 25, 50, 100, 200, 400, 1_000];

export interface PodReaderDeps {
  readonly table: PodTable;
  readonly observed: ObservedPods;
  readonly reading: ReadPodDeps;
  readonly clock: Clock;
  readonly log: Log;
  readonly faults: Pick<Faults, "note">;
  readonly metrics: Metrics;
  readonly wakeups: Pick<Wakeups, "askToStart" | "look">;
}

/** A pod in a list that was asked for at that time, on the monotonic clock. */
interface ListedAt {
  readonly pod: ListedPod;
  readonly atMs: number;
}

/** Reads pods from the runtime. Each read has its own deadline, so that a pod that hangs delays no other. */
export class PodReader {
  readonly #deps: PodReaderDeps;
  readonly #signal: AbortSignal;
  readonly #readings: SliceWriter<"reading">;
  /** Containers and sandboxes that have ended, by the runtime's id, until a read shows it. */
  readonly #settling = new Set<string>();

  constructor(deps: PodReaderDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#readings = deps.table.writer("reading");
  }

  /** Reads that pod soon; a read that is in progress is followed by another one. */
  requestRead(uid: PodUid): void {
    this.#inBackground(uid, this.readNow(uid));
  }

  /** Reads that pod as soon as no work is under way on it, unless it was read by then; not much later even if there is. */
  readWhenQuiet(uid: PodUid): void {
    if (this.#readings.get(uid)?.awaitsQuiet) return;
    this.#update(uid, { awaitsQuiet: true });
    this.#inBackground(uid, this.#readOnceQuiet(uid));
  }

  async #readOnceQuiet(uid: PodUid): Promise<void> {
    const sinceMs = this.#deps.clock.monotonicMs();
    await this.#untilQuiet(uid).finally(() => this.#update(uid, { awaitsQuiet: undefined }));
    if (!this.#deps.observed.isNewerThan(uid, sinceMs)) await this.readNow(uid);
  }

  /** The work on the pod reads it at the end. */
  async #untilQuiet(uid: PodUid): Promise<void> {
    const pod = this.#deps.table.get(uid);
    const { worker, removal } = pod ?? {};
    if (removal?.state === "running") await this.#untilEnded(removal.ended);
    else if (worker?.running === undefined) return;
    else if (hasNothingToEnd(pod)) await this.#untilEnded(worker.running);
    else await isDoneWithin(this.#deps.clock, worker.running, busyReadMs, this.#signal);
    await this.#readings.get(uid)?.running?.done;
  }

  async #untilEnded(work: Promise<void>): Promise<void> {
    await untilAborted(work, this.#signal).catch(() => undefined);
  }

  /** Resolves when the pod was read, by a read that begins from now on, or could not be read. */
  async readNow(uid: PodUid): Promise<void> {
    const running = this.#readings.get(uid)?.running;
    if (running === undefined) await this.#startReading(uid);
    else {
      running.again = true;
      await running.done;
    }
  }

  /** A list says nothing new of a pod that was read before: what was done to it since may be missing. */
  async readListed(uid: PodUid, listed: ListedAt): Promise<void> {
    const { observed } = this.#deps;
    const isFirst =
      observed.find(uid) === undefined && this.#readings.get(uid)?.running === undefined;
    if (isFirst && !observed.isNewerThan(uid, listed.atMs)) await this.#startReading(uid, listed);
    else await this.readNow(uid);
  }

  /** Reads a pod until it shows the end of a container or sandbox. One end has several events, and may be known already. */
  readUntilEnded(uid: PodUid, { containerId, exit }: RuntimeEvent): void {
    if (exit !== undefined) this.#deps.observed.noteExit(uid, containerId, exit);
    if (this.#settling.has(containerId)) return;
    this.#settling.add(containerId);
    const reading = this.#readWhileRunning(uid, containerId).finally(() =>
      this.#settling.delete(containerId),
    );
    this.#inBackground(uid, reading);
  }

  async #readWhileRunning(uid: PodUid, containerId: RuntimeContainerId): Promise<void> {
    await this.#untilQuiet(uid);
    let hasRead = false;
    for (const delayMs of lagRetriesMs) {
      const pod = this.#deps.observed.find(uid);
      const isOver = pod === undefined ? hasRead : hasEnded(pod, containerId);
      if (this.#signal.aborted || isOver) break;
      if (hasRead) await this.#sleep(delayMs);
      await this.readNow(uid);
      hasRead = true;
    }
  }

  #startReading(uid: PodUid, listed?: ListedAt): Promise<void> {
    const running = { again: false, done: Promise.resolve() };
    this.#update(uid, { running });
    running.done = this.#readWhileAsked(uid, running, listed);
    return running.done;
  }

  async #readWhileAsked(
    uid: PodUid,
    running: { again: boolean },
    listed: ListedAt | undefined,
  ): Promise<void> {
    try {
      await this.#read(uid, listed);
      while (running.again && !this.#signal.aborted) {
        running.again = false;
        await this.#read(uid);
      }
    } finally {
      // At once: a read that is asked for from now on is not done by this one.
      if (this.#readings.get(uid)?.running === running) this.#update(uid, { running: undefined });
    }
  }

  async #read(uid: PodUid, listed?: ListedAt): Promise<void> {
    const { table, clock, observed, reading, metrics, log, wakeups } = this.#deps;
    const startedAtMs = clock.monotonicMs();
    const readAtMs = listed?.atMs ?? startedAtMs;
    const limit = { ms: readDeadlineMs, what: `reading pod ${uid} from the runtime` };
    // What is being removed is gone, most likely, and not worth asking about unless it is listed.
    const isBeingRemoved = table.get(uid)?.removal?.state === "running";
    const before = isBeingRemoved ? undefined : observed.find(uid);
    const hint = { listed: listed?.pod, before };
    try {
      const found = await withDeadline(clock, limit, this.#signal, (signal) =>
        readPod(reading, uid, signal, hint),
      );
      this.#update(uid, { retry: undefined });
      if (!observed.set(uid, found, readAtMs)) return;
      wakeups.look(uid);
      wakeups.askToStart();
    } catch (error) {
      if (this.#signal.aborted) return;
      const isKnown = this.#readings.get(uid)?.retry !== undefined;
      const level = isKnown ? "debug" : "warn";
      log[level]("cannot read a pod from the runtime", { podUid: uid, error: errorText(error) });
      observed.set(uid, error instanceof Error ? error : new Error(String(error)), readAtMs);
      this.#inBackground(uid, this.#readAgainLater(uid));
    } finally {
      const seconds = (clock.monotonicMs() - startedAtMs) / 1000;
      metrics.observe("kubelet_pleg_pod_relist_duration_seconds", seconds);
    }
  }

  // No event says that a pod can be read again.
  async #readAgainLater(uid: PodUid): Promise<void> {
    const last = this.#readings.get(uid)?.retry;
    if (last?.isWaiting) return;
    const delayMs = nextDelayMs(last?.delayMs, retryLimits);
    const retry = { delayMs, isWaiting: true };
    this.#update(uid, { retry });
    await this.#sleep(delayMs);
    if (this.#signal.aborted || this.#readings.get(uid)?.retry !== retry) return;
    this.#update(uid, { retry: { delayMs, isWaiting: false } });
    await this.readNow(uid);
  }

  #inBackground(uid: PodUid, work: Promise<void>): void {
    work.catch((error: unknown) => this.#deps.faults.note(error, "observation", uid));
  }

  #update(uid: PodUid, changes: Partial<PodReading>): void {
    const next: PodReading = { ...this.#readings.get(uid), ...changes };
    const isOver = Object.values(next).every((value) => value === undefined);
    this.#readings.set(uid, isOver ? undefined : next);
  }

  async #sleep(ms: number): Promise<void> {
    await this.#deps.clock.sleep(ms, this.#signal).catch(() => undefined);
  }
}

/**
 * Whether all containers of a pod that is being stopped have ended, as events said: only its sandboxes are left to stop,
 * which takes a runtime long when many stop at once, and shows in no status.
 */
function hasNothingToEnd(pod: ManagedPod | undefined): boolean {
  const { state, exits } = pod?.observed ?? {};
  if (pod?.worker?.state.state !== "terminating" || state === undefined) return false;
  const running = state.containers.filter((container) => container.state === "running");
  return running.every(({ id }) => exits?.has(rawContainerId(id)));
}

interface ReadPodDeps {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  /** As it stands in container ids: "containerd". */
  readonly runtimeName: string;
  /** The feature ContainerStopSignals. */
  readonly hasStopSignals?: boolean | undefined;
  /** Undefined = termination messages are not read. */
  readonly messages?: MessageFiles | undefined;
  /** Has the resources that containers were last given. */
  readonly table?: Pick<PodTable, "get"> | undefined;
  /** How containers ended, where an event said so. */
  readonly observed?: Pick<ObservedPods, "exitOf"> | undefined;
}

/** What is known of a pod before it is read. */
export interface ReadHint {
  /** What the lists have of it, where they were just asked for. */
  readonly listed?: ListedPod | undefined;
  /** As it was last read: what there was then is asked about at once, while the lists say whether that is all. */
  readonly before?: ObservedPod | undefined;
}

/** Reads everything the runtime has of one pod. What vanishes while it is being read is left out. */
export async function readPod(
  deps: ReadPodDeps,
  uid: PodUid,
  signal: AbortSignal,
  { listed, before }: ReadHint = {},
): Promise<ObservedPod> {
  const sandboxStatus = once((id: string) => unlessGone(deps.runtime.podSandboxStatus(id, signal)));
  const containerStatus = once((id: RuntimeContainerId) => readContainer(deps, uid, id, signal));
  const listing = listed ?? listLabelled(deps.runtime, deps.clock, { [podUidLabel]: uid }, signal);
  for (const { id } of before?.sandboxes ?? []) sandboxStatus(id).catch(() => undefined);
  for (const { id } of before?.containers ?? []) {
    containerStatus(rawContainerId(id)).catch(() => undefined);
  }
  const { sandboxes, containers, listedAtMs } = await listing;
  const labels = { ...containers[0]?.labels, ...sandboxes[0]?.labels };
  const [sandboxStatuses, readContainers] = await Promise.all([
    Promise.all(sandboxes.map(({ id = "" }) => sandboxStatus(id))),
    Promise.all(
      containers.map(async ({ id = "", podSandboxId = "" }) => {
        const read = await containerStatus(runtimeContainerId(id));
        return read && { ...read, sandboxId: podSandboxId };
      }),
    ),
  ]);
  return observePod({
    uid,
    name: labels[podNameLabel] ?? "",
    namespace: labels[podNamespaceLabel] ?? "",
    runtimeName: deps.runtimeName,
    hasStopSignals: deps.hasStopSignals,
    sandboxes: sandboxStatuses.flatMap((answer) => answer?.status ?? []),
    containers: readContainers.filter((container) => container !== undefined),
    observedAtMs: listedAtMs,
  });
}

function once<Id extends string, T>(read: (id: Id) => Promise<T>): (id: Id) => Promise<T> {
  const reads = new Map<Id, Promise<T>>();
  return (id) => {
    const begun = reads.get(id) ?? read(id);
    reads.set(id, begun);
    return begun;
  };
}

async function readContainer(
  deps: ReadPodDeps,
  uid: PodUid,
  id: RuntimeContainerId,
  signal: AbortSignal,
): Promise<Omit<ReadContainer, "sandboxId"> | undefined> {
  const answer = await unlessGone(deps.runtime.containerStatus(id, signal));
  if (answer?.status === undefined) return undefined;
  const status = withExit(answer.status, deps.observed?.exitOf(uid, id));
  const terminationMessage =
    deps.messages === undefined
      ? ""
      : await readTerminationMessage(endReaderOf(deps.messages, uid, signal), status);
  const actuated = deps.table?.get(uid)?.actuated?.containers.get(status.metadata?.name ?? "");
  return { status, terminationMessage, actuated };
}
