import { type Level, type Logger, pino } from "pino";
import { parseJsonText } from "../../lib/json-text.ts";
import type { AdjustableLog, LogFields } from "../../ports/log.ts";
import { humanLine } from "./human-line.ts";

/** "human": short lines for people, "coloured" for those on a terminal; "json": Berth's own JSON; "kubernetes": JSON with the keys of Kubernetes components. */
type LogFormat = "human" | "coloured" | "json" | "kubernetes";

export interface PinoLogOptions {
  readonly level: Level;
  readonly format: LogFormat;
  readonly write: (line: string, level: string) => void;
}

/** A log of JSON lines, or of lines for people. */
export function createPinoLog(options: PinoLogOptions): AdjustableLog {
  const shape = shapes[options.format];
  const stream = {
    lastLevel: 0,
    write: (line: string) => options.write(shape(line), pino.levels.labels[stream.lastLevel] ?? ""),
    // By this symbol pino sets the level of each line before it writes it.
    [pino.symbols.needsMetadataGsym]: true,
  };
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.err, cause: pino.stdSerializers.err },
    },
    stream,
  );
  return {
    debug: (message, fields) => emit(logger, "debug", message, fields),
    info: (message, fields) => emit(logger, "info", message, fields),
    warn: (message, fields) => emit(logger, "warn", message, fields),
    error: (message, fields) => emit(logger, "error", message, fields),
    showDetails: (shown) => {
      logger.level = shown ? "debug" : options.level === "debug" ? "info" : options.level;
    },
  };
}

function emit(logger: Logger, level: Level, message: string, fields: LogFields | undefined): void {
  if (fields === undefined) logger[level](message);
  else if (logger.isLevelEnabled(level)) logger[level](plainFields(fields), message);
}

// JSON has no 64-bit integers.
function plainFields(fields: LogFields): LogFields {
  const entries = Object.entries(fields);
  if (!entries.some(([, value]) => typeof value === "bigint")) return fields;
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "bigint" ? String(value) : value]),
  );
}

const shapes: Readonly<Record<LogFormat, (json: string) => string>> = {
  human: (line) => humanLine(line, false),
  coloured: (line) => humanLine(line, true),
  json: (line) => line,
  kubernetes: kubernetesLine,
};

const detailVerbosity = 4;

/** As the kubelet's --logging-format=json has it: milliseconds, and a verbosity unless it is an error. */
function kubernetesLine(json: string): string {
  const parsed: unknown = parseJsonText(json);
  const { time, level, msg, error, ...fields } = parsed as Readonly<Record<string, unknown>>;
  const ts = Date.parse(String(time));
  const v = level === "error" ? {} : { v: level === "debug" ? detailVerbosity : 0 };
  const err = error === undefined ? {} : { err: messageOf(error) };
  return `${JSON.stringify({ ts, level, msg, ...v, ...fields, ...err })}\n`;
}

function messageOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "message" in error ? error.message : error;
}
