// Which lines of a log a reader gets, and how they look: pure, one line after the other.
import { quoteText } from "../lib/go-text.ts";
import { decodeUtf8With } from "../lib/utf8.ts";
import {
  detectLogFormat,
  type LogFormat,
  type LogRecord,
  parseLogLine,
} from "../model/log/log-line.ts";
import { isBefore, type LogTime } from "../model/log/log-time.ts";

export type LogStream = "stdout" | "stderr";

export interface LogFilterOptions {
  readonly streams: "all" | LogStream;
  readonly timestamps: boolean;
  readonly since?: LogTime | undefined;
  readonly limitBytes?: number | undefined;
  /** Ends after that many lines were read. */
  readonly maxLines?: number | undefined;
}

export type LogOutcome =
  | { readonly kind: "skip" }
  | {
      readonly kind: "write";
      readonly stream: LogStream;
      readonly bytes: Uint8Array;
      readonly isLast: boolean;
    }
  | { readonly kind: "end" }
  | { readonly kind: "fail"; readonly message: string };

const newline = 0x0a;
const encoder = new TextEncoder();
const skip: LogOutcome = { kind: "skip" };

/** Keeps what must be remembered from one line of a log to the next. */
export class LogFilter {
  readonly #options: LogFilterOptions;
  #format: LogFormat | undefined;
  #remainingBytes: number;
  #remainingLines: number;
  #atLineStart = true;

  constructor(options: LogFilterOptions) {
    this.#options = options;
    this.#remainingBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
    this.#remainingLines = options.maxLines ?? Number.POSITIVE_INFINITY;
  }

  /** No further line will be written. */
  get isDone(): boolean {
    return this.#remainingLines === 0;
  }

  next(line: Uint8Array): LogOutcome {
    if (this.isDone) return { kind: "end" };
    this.#format ??= detectLogFormat(line);
    if (this.#format === undefined) {
      return {
        kind: "fail",
        message: `failed to get parse function: unsupported log format: ${quoteBytes(line)}`,
      };
    }
    const record = parseLogLine(this.#format, line);
    if (record === undefined) return skip;
    const outcome = this.#write(record);
    this.#remainingLines--;
    this.#atLineStart = record.bytes.length === 0 || record.bytes.at(-1) === newline;
    return outcome;
  }

  #write({ time, stream, bytes }: LogRecord): LogOutcome {
    const { since, streams, timestamps } = this.#options;
    if (since !== undefined && isBefore(time, since)) return skip;
    if (stream !== "stdout" && stream !== "stderr") {
      return { kind: "fail", message: `unexpected stream type ${quoteText(stream)}` };
    }
    if (streams !== "all" && streams !== stream) return skip;
    const whole =
      timestamps && this.#atLineStart ? concat(encoder.encode(`${time.text} `), bytes) : bytes;
    const cut =
      whole.length > this.#remainingBytes ? whole.subarray(0, this.#remainingBytes) : whole;
    this.#remainingBytes -= cut.length;
    return { kind: "write", stream, bytes: cut, isLast: this.#remainingBytes <= 0 };
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

function quoteBytes(bytes: Uint8Array): string {
  const inner = decodeUtf8With(
    bytes,
    (stray) => `\\x${stray.toString(16)}`,
    (text) => quoteText(text).slice(1, -1),
  );
  return `"${inner}"`;
}
