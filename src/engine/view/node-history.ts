import type { NodeEvent } from "../../core/node/node-event.ts";
import { deepEqual } from "../../lib/deep-equal.ts";
import type { Event } from "../../model/generated/kubernetes.ts";
import { type PodUid, podUid } from "../../model/ids.ts";
import type { PodChange } from "../../ports/agent-view.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  HistoryMoment,
  HistoryPage,
  HistoryPods,
  HistoryQuery,
  HistoryStore,
  HistoryView,
  NodeSample,
  SyncEntry,
} from "../../ports/history.ts";
import type { SyncRecord } from "../../ports/sync-record.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { PodTable, SliceWriter } from "../pods/pod-table.ts";
import { cutText, statusEntry } from "./status-entry.ts";

export interface NodeHistoryDeps {
  readonly table: PodTable;
  readonly clock: Pick<Clock, "nowMs">;
  readonly historyStore: HistoryStore;
}

/** Who notifies of every change of a pod that others see. */
interface Changes {
  watch(onChange: (change: PodChange) => void, signal: AbortSignal): void;
}

const longestList = 100;
/** While an agent runs something is noted every minute. */
const longestSilenceMs = 150_000;
const oldestSampleMs = 600_000;

/**
 * What happened to the node and its pods, for as long as the settings say, also to pods that are gone and before this agent.
 * What is noted is written soon, by the store; only the newest status of each pod is kept in memory.
 */
export class NodeHistory implements HistoryView, NodeEvents {
  readonly #deps: NodeHistoryDeps;
  readonly #shown: SliceWriter<"shown">;

  constructor(deps: NodeHistoryDeps) {
    const { table, historyStore } = deps;
    this.#deps = deps;
    const shown = table.writer("shown");
    this.#shown = shown;
    historyStore.keep(function* () {
      for (const [, status] of shown.entries()) yield status;
    });
  }

  /** Notes every change of a pod that others see. */
  follow(changes: Changes, lifetime: AbortSignal): void {
    changes.watch((change) => this.#noteShown(change), lifetime);
  }

  noteSync(record: SyncRecord): void {
    this.#deps.historyStore.append(syncEntry(record));
  }

  /** One that comes again and again is noted again when it has come twice as often. */
  noteEvent({ involvedObject, type, reason, message, count = 1 }: Event): void {
    if (count > 3 && !Number.isInteger(Math.log2(count))) return;
    const { uid = "", namespace, name, fieldPath } = involvedObject;
    this.#deps.historyStore.append({
      kind: "event",
      atMs: this.#deps.clock.nowMs(),
      uid: podUid(uid),
      pod: `${namespace}/${name}`,
      type: type === "Warning" ? type : "Normal",
      reason: cutText(reason ?? ""),
      message: cutText(message ?? ""),
      container: fieldPath?.slice(fieldPath.indexOf("{") + 1, -1),
      count,
    });
  }

  recordNode({ type, reason, message }: NodeEvent): void {
    const { clock, historyStore } = this.#deps;
    const text = cutText(message);
    historyStore.append({ kind: "node-event", atMs: clock.nowMs(), type, reason, message: text });
  }

  noteSample(sample: Omit<NodeSample, "kind" | "atMs">): void {
    const { clock, historyStore } = this.#deps;
    historyStore.append({ kind: "node", atMs: clock.nowMs(), ...sample });
  }

  noteAgent(what: "started" | "stopped", version: string): void {
    const { clock, historyStore } = this.#deps;
    historyStore.append({ kind: "agent", atMs: clock.nowMs(), what, version });
  }

  /** Nothing of the pod is left. */
  noteGone(uid: PodUid): void {
    const { table } = this.#deps;
    const { shown, records } = table.get(uid) ?? {};
    const pod = shown?.pod ?? records?.syncs.at(-1)?.pod;
    if (pod !== undefined) this.#appendGone(uid, pod);
    if (shown !== undefined) this.#shown.set(uid, undefined);
  }

  /** Pods went while no agent ran: once this one knows what is here, all others are gone. */
  async noteVanished(signal: AbortSignal): Promise<void> {
    const { table, clock, historyStore } = this.#deps;
    const { pods } = await historyStore.moment(clock.nowMs(), signal);
    for (const { uid, pod } of pods) {
      if (table.get(uid) === undefined) this.#appendGone(uid, pod);
    }
  }

  entries(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    return this.#deps.historyStore.entries(query, signal);
  }

  async pods(signal: AbortSignal): Promise<HistoryPods> {
    const { table, historyStore } = this.#deps;
    const known = await historyStore.pods(signal);
    const items = known.items.map((pod) => {
      const isHere = table.get(pod.uid) !== undefined;
      return isHere || pod.goneMs !== undefined ? pod : { ...pod, goneMs: pod.lastSeenMs };
    });
    return { ...known, items };
  }

  async at(timeMs: number, signal: AbortSignal): Promise<HistoryMoment> {
    const stored = await this.#deps.historyStore.moment(timeMs, signal);
    const { pods, node, agent, newestMs, oldestMs } = stored;
    const hasStopped = agent?.what === "stopped" && agent.atMs === newestMs;
    const isSilent = newestMs === undefined || timeMs - newestMs > longestSilenceMs;
    const isRecent = node !== undefined && timeMs - node.atMs <= oldestSampleMs;
    return {
      atMs: timeMs,
      isKnown: !isSilent && !hasStopped,
      oldestMs,
      node: isRecent ? node : undefined,
      pods: pods.toSorted((a, b) => (a.pod < b.pod ? -1 : 1)),
    };
  }

  #noteShown({ type, pod }: PodChange): void {
    if (type === "DELETED") return;
    const { uid } = pod.metadata;
    const { clock, historyStore } = this.#deps;
    const before = this.#shown.get(uid);
    const status = statusEntry(pod, clock.nowMs());
    if (before !== undefined && deepEqual({ ...before, atMs: status.atMs }, status)) return;
    this.#shown.set(uid, status);
    historyStore.append(status);
  }

  #appendGone(uid: PodUid, pod: string): void {
    const { clock, historyStore } = this.#deps;
    historyStore.append({ kind: "gone", atMs: clock.nowMs(), uid, pod });
  }
}

function syncEntry(record: SyncRecord): SyncEntry {
  const { podUid, pod, kind, startedAtMs, durationMs, seen, prepared, steps } = record;
  const { error, cancelled } = record;
  return {
    kind: "sync",
    atMs: startedAtMs,
    uid: podUid,
    pod,
    work: kind,
    durationMs,
    seen: seen?.slice(0, longestList),
    prepared,
    steps: steps.slice(0, longestList).map(({ because, detail, ...step }) => ({
      ...step,
      because: cutText(because),
      detail: cutText(detail),
    })),
    error: cutText(error),
    cancelled: cutText(cancelled),
  };
}

/** The sync as it was recorded. */
export function recordedSync(entry: SyncEntry): SyncRecord {
  const { uid, pod, work, atMs, durationMs, seen, prepared, steps, error, cancelled } = entry;
  return {
    podUid: uid,
    pod,
    kind: work,
    startedAtMs: atMs,
    durationMs,
    seen,
    prepared,
    steps,
    error,
    cancelled,
  };
}
