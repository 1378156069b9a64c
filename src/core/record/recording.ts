// The file format of recordings: JSON lines, a header with their number and then one decision each.
import { parseJsonText } from "../../lib/json-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { formatTime } from "../../lib/time.ts";
import { type Decision, decisionKinds } from "./decision.ts";
import { recordedValue, restoreValue } from "./recorded-value.ts";

/** Goes up when recordings of before cannot be read any more. */
const formatVersion = 2;

export interface RecordingOrigin {
  /** Of the Berth that decided. */
  readonly berthVersion: string;
  readonly nodeName: string;
}

export interface RecordedDecision {
  /** Where it is in the file, from 1. */
  readonly line: number;
  readonly decision: Decision;
}

export interface Recording {
  readonly origin: RecordingOrigin;
  readonly decisions: readonly RecordedDecision[];
}

export interface RecordingProblem {
  readonly line: number;
  readonly message: string;
}

/** The lines of a recording, without their ends. */
export function* recordingLines(
  origin: RecordingOrigin,
  decisions: readonly Decision[],
): Generator<string> {
  yield JSON.stringify({ berthRecording: formatVersion, ...origin, decisions: decisions.length });
  for (const { kind, atMs, input, outcome } of decisions) {
    const plain = { input: recordedValue(input), outcome: recordedValue(outcome) };
    yield JSON.stringify({ kind, at: formatTime(atMs), atMs, ...plain });
  }
}

export function parseRecording(text: string): Result<Recording, RecordingProblem> {
  const lines = text.split("\n");
  const header = parseHeader(lines[0] ?? "");
  if (!header.ok) return err({ line: 1, message: header.error });
  const { origin, count } = header.value;
  const decisions: RecordedDecision[] = [];
  for (const [index, lineText] of lines.entries()) {
    if (index === 0 || lineText === "") continue;
    const line = index + 1;
    const decision = parseDecision(lineText);
    if (!decision.ok) return err({ line, message: decision.error });
    decisions.push({ line, decision: decision.value });
  }
  if (count !== undefined && count !== decisions.length) {
    const message = `the recording is not whole: ${decisions.length} of ${count} decisions are here`;
    return err({ line: (decisions.at(-1)?.line ?? 1) + 1, message });
  }
  return ok({ origin, decisions });
}

interface Header {
  readonly origin: RecordingOrigin;
  /** Undefined = written before headers had it. */
  readonly count?: number | undefined;
}

function parseHeader(text: string): Result<Header, string> {
  const header = parseObject(text);
  if (header === undefined || !("berthRecording" in header)) {
    return err(
      "this is not a recording: it does not begin with a header of `berth why --recording`",
    );
  }
  const { berthRecording: version, berthVersion, nodeName, decisions } = header;
  if (version !== formatVersion) {
    const known = `this Berth reads version ${formatVersion}`;
    return err(`the recording has version ${JSON.stringify(version)}, ${known}`);
  }
  if (typeof berthVersion !== "string" || typeof nodeName !== "string") {
    return err("the header does not say which Berth decided, and on which node");
  }
  const count = typeof decisions === "number" ? decisions : undefined;
  return ok({ origin: { berthVersion, nodeName }, count });
}

function parseDecision(text: string): Result<Decision, string> {
  const line = parseObject(text);
  if (line === undefined) return err("not a JSON object: the file is damaged or incomplete");
  const { kind, atMs, outcome } = line;
  const known = decisionKinds.find((one) => one === kind);
  if (known === undefined) {
    const all = decisionKinds.join(", ");
    return err(`a decision of the unknown kind ${JSON.stringify(kind)}: known are ${all}`);
  }
  const input = restoreValue(line["input"]);
  const decision: UnknownDecision = { kind: known, atMs, input, outcome };
  return isDecision(decision) ? ok(decision) : err(`the decision has no ${missingPart(decision)}`);
}

/** Whether a value is a decision; that it is complete is up to its writer. */
function isDecision(value: UnknownDecision): value is Decision {
  return missingPart(value) === undefined;
}

interface UnknownDecision {
  readonly kind: Decision["kind"];
  readonly atMs: unknown;
  readonly input: unknown;
  readonly outcome: unknown;
}

function missingPart({ kind, atMs, input, outcome }: UnknownDecision): string | undefined {
  if (typeof atMs !== "number") return "atMs";
  if (!isObject(outcome)) return "outcome";
  if (!isObject(input)) return "input";
  const { pod, observed } = input;
  const isPod = isObject(pod) && isObject(pod["metadata"]) && isObject(pod["spec"]);
  if (kind !== "removal" && !isPod) return "input.pod";
  if (!isObject(observed) || !Array.isArray(observed["containers"])) return "input.observed";
  return undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
