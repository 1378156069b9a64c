import { type PodUid, podUid } from "../../model/ids.ts";
import type {
  AgentEntry,
  HistoryEntry,
  HistoryPage,
  HistoryPod,
  HistoryPods,
  HistoryQuery,
  NodeSample,
  PodEntry,
  StatusEntry,
  StoredMoment,
} from "../../ports/history.ts";
import {
  decodeEntry,
  headsBackward,
  headsForward,
  type LineHead,
  writtenUid,
} from "./history-line.ts";
import { type HistoryPart, partProblem, readPart } from "./history-parts.ts";

/** A part, and what follows in it but is not on disk. */
export interface ReadablePart extends HistoryPart {
  readonly waiting?: Buffer | undefined;
}

const usualLimit = 200;
const mostEntries = 1000;
const mostPods = 2000;
/** Pods of all parts together that are kept in memory once they were asked for: about 4 MB. */
const mostTraces = 16_384;
/** A sync is written when it has ended, with the time at which it began. */
const longestSyncMs = 3_600_000;

/** What the lines of one part say of one pod. */
interface PodTrace {
  readonly uid: PodUid;
  firstMs: number;
  lastMs: number;
  goneMs: number | undefined;
  /** Its newest status, or any entry of it where there is no status. */
  newest: LineHead;
}

interface PlacedTrace extends PodTrace {
  /** The one that has `newest`. */
  readonly part: ReadablePart;
}

interface PartSummary {
  readonly bytes: number;
  readonly damaged: number;
  readonly pods: ReadonlyMap<string, PodTrace>;
}

/** Answers questions from the parts of history, one part after the other, so that no answer needs much memory or time at once. */
export class HistoryReader {
  /** By the number of the part: what is asked for again and again is not read again and again. */
  readonly #summaries = new Map<number, PartSummary>();

  forget({ number }: HistoryPart): void {
    this.#summaries.delete(number);
  }

  async entries(
    parts: readonly ReadablePart[],
    asked: HistoryQuery,
    signal: AbortSignal,
  ): Promise<HistoryPage> {
    const { uid } = asked;
    const query = uid === undefined ? asked : { ...asked, uid: podUid(writtenUid(uid)) };
    const limit = Math.min(query.limit ?? usualLimit, mostEntries);
    const before = parsePosition(query.before);
    const problems: string[] = [];
    const found: { readonly entry: HistoryEntry; readonly position: string }[] = [];
    for (const [index, part] of [...parts.entries()].toReversed()) {
      if (before !== undefined && part.number > before.number) continue;
      if (query.untilMs !== undefined && part.beganMs > query.untilMs + longestSyncMs) continue;
      const endedMs = parts[index + 1]?.beganMs ?? Number.POSITIVE_INFINITY;
      if (query.sinceMs !== undefined && endedMs < query.sinceMs) break;
      if (query.uid !== undefined && this.#isKnownWithout(part, query.uid)) continue;
      signal.throwIfAborted();
      const content = await this.#read(part, problems);
      const end = part.number === before?.number ? before.offset : content.length;
      let damaged = 0;
      for (const head of headsBackward(content.subarray(0, end), () => damaged++)) {
        if (!matches(head, query)) continue;
        const entry = decodeEntry(content, head);
        if (entry === undefined) damaged++;
        else found.push({ entry, position: `${part.number}.${head.start}` });
        if (found.length > limit) break;
      }
      if (damaged > 0) problems.push(damageText(part, damaged));
      if (found.length > limit) break;
    }
    const shown = found.slice(0, limit);
    const next = found.length > limit ? shown.at(-1)?.position : undefined;
    return { items: shown.map(({ entry }) => entry), next, oldestMs: parts[0]?.beganMs, problems };
  }

  async pods(parts: readonly ReadablePart[], signal: AbortSignal): Promise<HistoryPods> {
    const problems: string[] = [];
    const pods = new Map<string, PlacedTrace>();
    for (const part of parts.toReversed()) {
      signal.throwIfAborted();
      const { pods: traces, damaged } = await this.#summary(part, problems);
      if (damaged > 0) problems.push(damageText(part, damaged));
      for (const [uid, trace] of traces) {
        const newer = pods.get(uid);
        pods.set(uid, newer === undefined ? { ...trace, part } : joined(newer, trace, part));
      }
    }
    const newest = [...pods.values()].toSorted((a, b) => b.lastMs - a.lastMs);
    const shown = newest.slice(0, mostPods);
    const entries = await this.#newestEntries(shown, problems);
    const items = shown.flatMap(({ uid, firstMs, lastMs, goneMs }): HistoryPod[] => {
      const entry = entries.get(uid);
      const [namespace = "", name] = entry?.pod.split("/") ?? [];
      if (name === undefined) return [];
      const last = entry?.kind === "status" ? entry : undefined;
      return [{ uid, namespace, name, firstSeenMs: firstMs, lastSeenMs: lastMs, goneMs, last }];
    });
    const isCut = newest.length > shown.length;
    return { items, isCut, oldestMs: parts[0]?.beganMs, problems };
  }

  async moment(
    parts: readonly ReadablePart[],
    timeMs: number,
    signal: AbortSignal,
  ): Promise<StoredMoment> {
    const oldestMs = parts[0]?.beganMs;
    const part = parts.findLast(({ beganMs }) => beganMs <= timeMs);
    if (part === undefined) return { pods: [], oldestMs };
    signal.throwIfAborted();
    const content = await this.#read(part, []);
    const statuses = new Map<string, LineHead>();
    let newestMs: number | undefined;
    let node: LineHead | undefined;
    let agent: LineHead | undefined;
    for (const head of headsForward(content, () => undefined)) {
      const { kind, uid = "", atMs, isRepeated } = head;
      if (atMs > timeMs) continue;
      if (!isRepeated) newestMs = Math.max(newestMs ?? atMs, atMs);
      if (kind === "status") statuses.set(uid, head);
      else if (kind === "gone") statuses.delete(uid);
      else if (kind === "node") node = head;
      else if (kind === "agent") agent = head;
    }
    const decode = (head: LineHead | undefined) => head && decodeEntry(content, head);
    return {
      pods: [...statuses.values()].flatMap((head) => (decode(head) as StatusEntry) ?? []),
      node: decode(node) as NodeSample | undefined,
      agent: decode(agent) as AgentEntry | undefined,
      newestMs,
      oldestMs,
    };
  }

  async #read(part: ReadablePart, problems: string[]): Promise<Buffer> {
    try {
      const content = await readPart(part);
      return part.waiting === undefined ? content : Buffer.concat([content, part.waiting]);
    } catch (error) {
      problems.push(partProblem(part, error));
      return part.waiting ?? Buffer.alloc(0);
    }
  }

  #isKnownWithout(part: ReadablePart, uid: PodUid): boolean {
    const summary = this.#known(part);
    return summary !== undefined && !summary.pods.has(uid);
  }

  /** A part that has grown since is summed up again. */
  #known(part: ReadablePart): PartSummary | undefined {
    const summary = this.#summaries.get(part.number);
    const isCurrent = summary?.bytes === part.bytes && part.waiting === undefined;
    return isCurrent ? summary : undefined;
  }

  async #summary(part: ReadablePart, problems: string[]): Promise<PartSummary> {
    const known = this.#known(part);
    if (known !== undefined) return known;
    const content = await this.#read(part, problems);
    const summary = summarize(content, part.bytes);
    if (content.length > 0) this.#keep(part, summary);
    return summary;
  }

  #keep(part: ReadablePart, summary: PartSummary): void {
    this.#summaries.set(part.number, summary);
    let traces = 0;
    for (const { pods } of this.#summaries.values()) traces += pods.size;
    for (const [number, { pods }] of this.#summaries) {
      if (traces <= mostTraces) return;
      this.#summaries.delete(number);
      traces -= pods.size;
    }
  }

  /** The newest entry of each, with every part read once. */
  async #newestEntries(
    traces: readonly PlacedTrace[],
    problems: string[],
  ): Promise<ReadonlyMap<string, PodEntry>> {
    const byPart = new Map<ReadablePart, LineHead[]>();
    for (const { part, newest } of traces) {
      const heads = byPart.get(part) ?? [];
      byPart.set(part, heads);
      heads.push(newest);
    }
    const entries = new Map<string, PodEntry>();
    for (const [part, heads] of byPart) {
      const content = await this.#read(part, problems);
      for (const head of heads) {
        const entry = decodeEntry(content, head);
        if (entry !== undefined && "uid" in entry) entries.set(entry.uid, entry);
      }
    }
    return entries;
  }
}

/** What a newer part and an older one say of a pod. */
function joined(newer: PlacedTrace, older: PodTrace, part: ReadablePart): PlacedTrace {
  const firstMs = Math.min(newer.firstMs, older.firstMs);
  if (newer.newest.kind === "status") return { ...newer, firstMs };
  // What was still noted of it after it had gone does not bring it back.
  const goneMs = newer.goneMs ?? older.goneMs;
  if (older.newest.kind !== "status") return { ...newer, firstMs, goneMs };
  return { ...newer, firstMs, goneMs, newest: older.newest, part };
}

function summarize(content: Buffer, bytes: number): PartSummary {
  const pods = new Map<string, PodTrace>();
  let damaged = 0;
  for (const head of headsForward(content, () => damaged++)) {
    const { uid, atMs, kind } = head;
    if (uid === undefined) continue;
    const trace = pods.get(uid) ?? newTrace(podUid(uid), head);
    pods.set(uid, trace);
    trace.firstMs = Math.min(trace.firstMs, atMs);
    trace.lastMs = Math.max(trace.lastMs, atMs);
    // One that came back under its UID is there again.
    if (kind === "gone") trace.goneMs = atMs;
    else if (kind === "status") trace.goneMs = undefined;
    if (kind === "status" || trace.newest.kind !== "status") trace.newest = head;
  }
  return { bytes, damaged, pods };
}

function newTrace(uid: PodUid, newest: LineHead): PodTrace {
  const { atMs } = newest;
  return { uid, firstMs: atMs, lastMs: atMs, goneMs: undefined, newest };
}

function matches(head: LineHead, { uid, kinds, sinceMs, untilMs }: HistoryQuery): boolean {
  const { atMs, kind, isRepeated } = head;
  return (
    !isRepeated &&
    (uid === undefined || head.uid === uid) &&
    (kinds === undefined || kinds.includes(kind)) &&
    (sinceMs === undefined || atMs >= sinceMs) &&
    (untilMs === undefined || atMs <= untilMs)
  );
}

/** Where a page ended: the part, and the place in it of its last entry. */
function parsePosition(
  text: string | undefined,
): { readonly number: number; readonly offset: number } | undefined {
  const [, number, offset] = /^(\d{1,10})\.(\d{1,10})$/.exec(text ?? "") ?? [];
  return number === undefined ? undefined : { number: Number(number), offset: Number(offset) };
}

function damageText({ path }: HistoryPart, lines: number): string {
  return `the history file ${path} is damaged: ${lines} of its lines are left out`;
}
