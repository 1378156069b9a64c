// One line of a container log file, in the CRI's format or in Docker's JSON.
import { parseJsonText } from "../../lib/json-text.ts";
import { decodeUtf8 } from "../../lib/utf8.ts";
import { type LogTime, parseLogTime, zeroLogTime } from "./log-time.ts";

export type LogFormat = "cri" | "docker-json";

export interface LogRecord {
  readonly time: LogTime;
  /** Docker's format does not promise one of the two. */
  readonly stream: string;
  /** Ends with a newline, unless the record is one part of a longer line. */
  readonly bytes: Uint8Array;
}

const space = 0x20;
const newline = 0x0a;
const encoder = new TextEncoder();

/** The format that a file's first line is in; undefined when it is in neither. */
export function detectLogFormat(line: Uint8Array): LogFormat | undefined {
  if (parseCriLine(line) !== undefined) return "cri";
  return parseDockerLine(line) === undefined ? undefined : "docker-json";
}

/** A line, with its newline where it has one; undefined when it is not of that format. */
export function parseLogLine(format: LogFormat, line: Uint8Array): LogRecord | undefined {
  return format === "cri" ? parseCriLine(line) : parseDockerLine(line);
}

/** `2026-01-01T00:00:00.000000000Z stdout F text`; further tags may follow F or P after colons. */
function parseCriLine(line: Uint8Array): LogRecord | undefined {
  const timeEnd = line.indexOf(space);
  const streamEnd = line.indexOf(space, timeEnd + 1);
  const tagEnd = line.indexOf(space, streamEnd + 1);
  if (timeEnd < 0 || streamEnd < 0 || tagEnd < 0) return undefined;
  const time = parseLogTime(decodeUtf8(line.subarray(0, timeEnd)));
  const stream = decodeUtf8(line.subarray(timeEnd + 1, streamEnd));
  if (time === undefined || (stream !== "stdout" && stream !== "stderr")) return undefined;
  const tags = decodeUtf8(line.subarray(streamEnd + 1, tagEnd)).split(":");
  const isPart = tags[0] === "P";
  const end = isPart && line.at(-1) === newline ? line.length - 1 : line.length;
  return { time, stream, bytes: line.subarray(tagEnd + 1, end) };
}

/** `{"log":"text\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}`; field names in any case. */
function parseDockerLine(line: Uint8Array): LogRecord | undefined {
  const value = parseJson(decodeUtf8(line));
  if (value === undefined || typeof value !== "object" || Array.isArray(value)) return undefined;
  let log = "";
  let stream = "";
  let time = zeroLogTime;
  for (const [key, field] of Object.entries(value ?? {})) {
    const name = key.toUpperCase();
    if (name !== "LOG" && name !== "STREAM" && name !== "TIME") continue;
    if (field === null) continue;
    if (typeof field !== "string") return undefined;
    if (name === "LOG") log = field;
    else if (name === "STREAM") stream = field;
    else {
      const parsed = parseLogTime(field);
      if (parsed === undefined) return undefined;
      time = parsed;
    }
  }
  return { time, stream, bytes: encoder.encode(log) };
}

function parseJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}
