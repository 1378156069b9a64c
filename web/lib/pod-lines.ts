// The pods of a table, live or past, as plain lines to sort, filter and draw.
import { formatAge } from "../../src/lib/duration.ts";
import { parseTime } from "../../src/lib/time.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podRow } from "../../src/model/pod-row.ts";
import type { StatusEntry } from "../../src/ports/history.ts";
import { type Tone, toneOf } from "./tone.ts";

export interface PodLine {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly ready: string;
  readonly status: string;
  readonly tone: Tone;
  readonly restarts: string;
  readonly age: string;
  readonly ip: string;
  /** What they are sorted by where the text does not do. */
  readonly createdMs: number;
  readonly restartCount: number;
  /** What a search looks into, in lower case. */
  readonly searched: string;
}

export const columns = ["namespace", "name", "ready", "status", "restarts", "age", "ip"] as const;
export type Column = (typeof columns)[number];

export interface Order {
  readonly by: Column;
  readonly isDescending: boolean;
}

export interface Filter {
  /** Each of its words is in what is searched. */
  readonly search: string;
  /** Empty = all. */
  readonly namespace: string;
  readonly onlyProblems: boolean;
}

export function lineOfPod(pod: Pod, nowMs: number): PodLine {
  const row = podRow(pod, nowMs);
  const { uid, labels = {}, creationTimestamp = "" } = pod.metadata;
  const statuses = pod.status?.containerStatuses ?? [];
  const words = [
    ...Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    ...pod.spec.containers.map(({ image = "" }) => image),
  ];
  return {
    ...row,
    uid,
    ip: row.ip === "<none>" ? "" : row.ip,
    tone: readyTone(row.status, row.ready),
    createdMs: parseTime(creationTimestamp) ?? 0,
    restartCount: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    searched: searchedText(row, words),
  };
}

/** Of a pod as it was at `atMs`. */
export function lineOfMoment(entry: StatusEntry, atMs: number): PodLine {
  const { uid, pod, ready, status, restarts, ip = "", createdMs = 0, containers } = entry;
  const [namespace = "", name = ""] = pod.split("/");
  const row = { namespace, name, status, ip };
  return {
    ...row,
    uid,
    ready,
    tone: readyTone(status, ready),
    restarts: `${restarts}`,
    age: createdMs === 0 ? "" : formatAge(atMs - createdMs),
    createdMs,
    restartCount: restarts,
    searched: searchedText(
      row,
      containers.map(({ image = "" }) => image),
    ),
  };
}

export function filterLines(
  lines: readonly PodLine[],
  { search, namespace, onlyProblems }: Filter,
): readonly PodLine[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter(
    (line) =>
      (namespace === "" || line.namespace === namespace) &&
      (!onlyProblems || isProblem(line)) &&
      words.every((word) => line.searched.includes(word)),
  );
}

export function isProblem({ tone }: PodLine): boolean {
  return tone === "bad" || tone === "warn";
}

/** Lines that are equal in what they are sorted by stay in the order of namespace and name. */
export function sortLines(lines: readonly PodLine[], { by, isDescending }: Order): PodLine[] {
  const sign = isDescending ? -1 : 1;
  return lines.toSorted((a, b) => sign * compare(a, b, by) || byName(a, b));
}

function compare(a: PodLine, b: PodLine, by: Column): number {
  if (by === "restarts") return a.restartCount - b.restartCount;
  // The youngest has the smallest age.
  if (by === "age") return b.createdMs - a.createdMs;
  if (by === "status") return rank(a) - rank(b) || compareTexts(a.status, b.status);
  if (by === "ready") return readyShare(a) - readyShare(b);
  return compareTexts(a[by], b[by]);
}

const ranks: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, busy: 2, good: 3, idle: 4 };

function rank({ tone }: PodLine): number {
  return ranks[tone];
}

function readyShare({ ready }: PodLine): number {
  const [is = 0, wanted = 0] = ready.split("/").map(Number);
  return wanted === 0 ? 0 : is / wanted;
}

function byName(a: PodLine, b: PodLine): number {
  return compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name);
}

/** Numbers in names by their value: web-2 before web-10. */
const collator = new Intl.Collator("en", { numeric: true });

function compareTexts(a: string, b: string): number {
  return collator.compare(a, b);
}

/** A pod that runs and is not ready is not as it should be. */
function readyTone(status: string, ready: string): Tone {
  const [is, wanted] = ready.split("/");
  const tone = toneOf(status);
  return tone === "good" && is !== wanted ? "warn" : tone;
}

function searchedText(
  row: Pick<PodLine, "namespace" | "name" | "status" | "ip">,
  words: readonly string[],
): string {
  return [`${row.namespace}/${row.name}`, row.status, row.ip, ...words].join(" ").toLowerCase();
}
