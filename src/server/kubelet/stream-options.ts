// What the queries of logs, exec, attach and port-forward ask for, with the kubelet's names and refusals.
import { parseGoDecimal, parseGoUint } from "../../lib/go-number.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseLogTime } from "../../model/log/log-time.ts";

export type QueryValues = ReadonlyMap<string, readonly string[]>;

/** Why a request is not carried out. */
export interface Refusal {
  readonly status: number;
  readonly body: string;
}

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly sinceSeconds?: number | undefined;
  /** As in RFC 3339; "" = a time was given that says nothing. */
  readonly sinceTime?: string | undefined;
  readonly tailLines?: number | undefined;
  readonly limitBytes?: number | undefined;
  /** All, Stdout or Stderr; undefined = not said. */
  readonly stream?: string | undefined;
  /** Meant for the API server; they change nothing here. */
  readonly container?: string | undefined;
  readonly insecureSkipTLSVerifyBackend: boolean;
}

export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

const undecodable: Refusal = { status: 400, body: '{"message": "Unable to decode query."}' };
const invalid: Refusal = { status: 422, body: '{"message": "Invalid request."}' };

export function parseLogOptions(query: QueryValues): Result<LogOptions, Refusal> {
  const count = (name: string): bigint | undefined | "bad" => {
    const text = logValue(query, name);
    if (text === undefined) return undefined;
    const parsed = parseGoDecimal(text);
    return parsed.ok ? parsed.value : "bad";
  };
  const sinceSeconds = count("sinceSeconds");
  const tailLines = count("tailLines");
  const limitBytes = count("limitBytes");
  const sinceTime = first(query, "sinceTime");
  if (sinceSeconds === "bad" || tailLines === "bad" || limitBytes === "bad") {
    return err(undecodable);
  }
  const hasTime = sinceTime !== undefined && sinceTime !== "" && sinceTime !== "null";
  if (hasTime && parseLogTime(sinceTime) === undefined) return err(undecodable);
  const stream = first(query, "stream");
  const isWrong =
    (tailLines !== undefined && tailLines < 0n) ||
    (limitBytes !== undefined && limitBytes < 1n) ||
    (sinceSeconds !== undefined && (sinceTime !== undefined || sinceSeconds < 1n)) ||
    !isStreamValid(stream, tailLines);
  if (isWrong) return err(invalid);
  return ok({
    follow: isSet(query, "follow"),
    previous: isSet(query, "previous"),
    timestamps: isSet(query, "timestamps"),
    sinceSeconds: sinceSeconds === undefined ? undefined : Number(sinceSeconds),
    sinceTime: hasTime || sinceTime === undefined ? sinceTime : "",
    tailLines: tailLines === undefined ? undefined : Number(tailLines),
    limitBytes: limitBytes === undefined ? undefined : Number(limitBytes),
    stream,
    container: first(query, "container"),
    insecureSkipTLSVerifyBackend: isSet(query, "insecureSkipTLSVerifyBackend"),
  });
}

/** Only the older names "input", "output" and "error" with the value 1 choose streams. */
export function parseStreamOptions(query: QueryValues): Result<StreamOptions, Refusal> {
  const chosen = (name: string): boolean => first(query, name) === "1";
  const tty = chosen("tty");
  const options = {
    stdin: chosen("input"),
    stdout: chosen("output"),
    // A terminal has only one output.
    stderr: chosen("error") && !tty,
    tty,
  };
  if (options.stdin || options.stdout || options.stderr) return ok(options);
  return err({ status: 400, body: "you must specify at least 1 of stdin, stdout, stderr" });
}

/** The ports that a WebSocket names; other protocols name them later. */
export function parseForwardedPorts(query: QueryValues): Result<readonly number[], Refusal> {
  const refuse = (body: string): Result<readonly number[], Refusal> => err({ status: 400, body });
  const texts = query.get("port") ?? [];
  if (texts.length === 0) return refuse('query parameter "port" is required');
  const ports: number[] = [];
  for (const text of texts) {
    if (text === "") return refuse('query parameter "port" cannot be empty');
    for (const part of text.split(",")) {
      const port = parseGoUint(part, 16);
      if (!port.ok) return refuse(`unable to parse ${quoteText(text)} as a port: ${port.error}`);
      if (port.value < 1n) return refuse(`port ${quoteText(text)} must be > 0`);
      ports.push(Number(port.value));
    }
  }
  return ok(ports);
}

/** The older "tail" means tailLines; its "all" means no limit. */
function logValue(query: QueryValues, name: string): string | undefined {
  const tail = name === "tailLines" ? (first(query, "tail") ?? "") : "";
  if (tail === "") return first(query, name);
  return tail === "all" ? undefined : tail;
}

function isStreamValid(stream: string | undefined, tailLines: bigint | undefined): boolean {
  if (stream === undefined || stream === "All") return true;
  return (stream === "Stdout" || stream === "Stderr") && tailLines === undefined;
}

function first(query: QueryValues, name: string): string | undefined {
  return query.get(name)?.[0];
}

function isSet(query: QueryValues, name: string): boolean {
  const value = first(query, name);
  return value !== undefined && value !== "0" && value.toLowerCase() !== "false";
}
