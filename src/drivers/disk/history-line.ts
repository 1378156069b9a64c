// One entry of history as a line: a checksum over the rest, what the entry is found by, and all else as JSON.
//   1c291ca3 1795051200000 status 0b7f… {"pod":"default/web",…}
import { crc32 } from "node:zlib";
import { parseJsonText } from "../../lib/json-text.ts";
import type { HistoryEntry, HistoryKind } from "../../ports/history.ts";

const checksumLength = 8;
const newline = 0x0a;
/** Longer than any checksum, time, kind and UID together. */
const maxHeadLength = 1024;
const maxOwnerLength = 900;
/** So many characters are never encoded as more than that: nine for each. */
const cutUidLength = 100;

/** What can be said of a line without reading its JSON. */
export interface LineHead {
  readonly atMs: number;
  readonly kind: HistoryKind;
  /** Of a pod's entry. */
  readonly uid: string | undefined;
  /** It was written before, and again at the beginning of a part. */
  readonly isRepeated: boolean;
  /** Of the line in its part, with its newline. */
  readonly start: number;
  readonly end: number;
  /** Where the JSON begins. */
  readonly body: number;
}

/** The UID as which history knows a pod: a manifest may give half a character, or more than a head holds. */
export function writtenUid(uid: string): string {
  const text = withoutHalves(uid);
  if (encodeURIComponent(text).length <= maxOwnerLength) return text;
  return withoutHalves(text.slice(0, cutUidLength));
}

export function encodeEntry(entry: HistoryEntry, isRepeated = false): string {
  const { kind, atMs, uid, ...rest } = { uid: undefined, ...entry };
  const name = isRepeated ? `=${kind}` : kind;
  // A UID is whatever a manifest says: nothing in it may end the head.
  const owner = uid === undefined ? "" : encodeURIComponent(writtenUid(uid));
  const text = `${Math.round(atMs)} ${name} ${owner} ${JSON.stringify(rest)}`;
  return `${crc32(text).toString(16).padStart(checksumLength, "0")} ${text}\n`;
}

/** Halves of characters have no bytes: each is replaced, as anywhere else where text is written. */
function withoutHalves(text: string): string {
  return Buffer.from(text).toString();
}

/** The entry of a line; undefined when it is damaged. */
export function decodeEntry(part: Buffer, head: LineHead): HistoryEntry | undefined {
  const { start, end, body, atMs, kind, uid } = head;
  if (!isWhole(part, start, end)) return undefined;
  try {
    const rest = parseJsonText(part.toString("utf8", body, end - 1)) as object;
    const entry = uid === undefined ? { kind, atMs, ...rest } : { kind, atMs, uid, ...rest };
    // The checksum says that it is what was written.
    return entry as HistoryEntry;
  } catch {
    return undefined;
  }
}

/** The checksum holds: the line is as it was written. */
function isWhole(part: Buffer, start: number, end: number): boolean {
  const expected = part.toString("latin1", start, start + checksumLength);
  const actual = crc32(part.subarray(start + checksumLength + 1, end - 1));
  return actual.toString(16).padStart(checksumLength, "0") === expected;
}

/** The lines of a part, from its end to its beginning; `onDamage` is called for those that have no head. */
export function* headsBackward(part: Buffer, onDamage: () => void): Generator<LineHead> {
  let end = part.lastIndexOf(newline) + 1;
  while (end > 0) {
    const start = end < 2 ? 0 : part.lastIndexOf(newline, end - 2) + 1;
    const head = readHead(part, start, end);
    if (head === undefined) onDamage();
    else yield head;
    end = start;
  }
}

/** The same from the beginning to the end. What follows the last newline was not written to its end. */
export function* headsForward(part: Buffer, onDamage: () => void): Generator<LineHead> {
  let start = 0;
  for (;;) {
    const end = part.indexOf(newline, start) + 1;
    if (end === 0) return;
    const head = readHead(part, start, end);
    if (head === undefined) onDamage();
    else yield head;
    start = end;
  }
}

const kinds: Readonly<Record<HistoryKind, true>> = {
  sync: true,
  status: true,
  event: true,
  gone: true,
  node: true,
  "node-event": true,
  agent: true,
};

function readHead(part: Buffer, start: number, end: number): LineHead | undefined {
  const text = part.toString("latin1", start, Math.min(end, start + maxHeadLength));
  const [checksum = "", time = "", name = "", owner = "", first = ""] = text.split(" ", 5);
  if (checksum.length !== checksumLength || !first.startsWith("{")) return undefined;
  const atMs = Number(time);
  const isRepeated = name.startsWith("=");
  const kind = isRepeated ? name.slice(1) : name;
  if (time === "" || !Number.isSafeInteger(atMs) || !isKind(kind)) return undefined;
  const body = start + checksum.length + time.length + name.length + owner.length + 4;
  const uid = owner === "" ? undefined : decodeUid(owner);
  return { atMs, kind, uid, isRepeated, start, end, body };
}

function isKind(text: string): text is HistoryKind {
  return Object.hasOwn(kinds, text);
}

function decodeUid(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
