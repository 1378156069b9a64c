import { standingsOf } from "../../core/observe/classify-pod.ts";
import { errorText } from "../../lib/error-text.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { RecordedSpan, RecordedStep, SyncRecord } from "../../ports/sync-record.ts";
import { notableSpans } from "../execute/span.ts";
import { cancelledCode, type StepFailure, type StepReport } from "../execute/step-report.ts";

/** How a piece of work ended, of which anything may be left to do. */
type WorkEnd = Pick<SyncRecord, "error" | "cancelled">;

/** What a record says of work that threw; nothing of work that did not. */
export function howEnded(error: unknown, signal: AbortSignal): WorkEnd {
  if (error === undefined) return {};
  return signal.aborted ? { cancelled: errorText(signal.reason) } : { error: errorText(error) };
}

export interface FinishedWork extends WorkEnd {
  readonly kind: SyncRecord["kind"];
  /** Undefined = the runtime was not looked at. */
  readonly observed: ObservedPod | undefined;
  readonly startedAtMs: number;
  readonly prepared?: readonly RecordedSpan[];
  readonly reports: readonly StepReport[];
}

/** What `berth why` shows of what was seen and done. */
export function syncRecord(
  { uid, name, namespace }: Pick<ObservedPod, "uid" | "name" | "namespace">,
  { kind, observed, startedAtMs, prepared = [], reports, error, cancelled }: FinishedWork,
  nowMs: number,
): SyncRecord {
  return {
    podUid: uid,
    pod: `${namespace}/${name}`,
    kind,
    startedAtMs,
    durationMs: nowMs - startedAtMs,
    seen: observed === undefined ? undefined : describeSeen(observed),
    prepared: notableSpans(prepared),
    steps: reports.filter((report) => !isIdle(report, observed)).map(recordedStep),
    error,
    cancelled,
  };
}

/** A new pod is "stopped" before it is started, as upstream does, though there is nothing to stop. */
function isIdle({ kind }: StepReport, observed: ObservedPod | undefined): boolean {
  return kind === "kill-pod" && observed?.sandboxes.length === 0;
}

/** What was observed, one line for each sandbox and container, for people. */
function describeSeen(observed: ObservedPod): string[] {
  const standings = standingsOf(observed);
  const mark = (id: string): string => (standings.get(id) === "leftover" ? ", a leftover" : "");
  return [
    ...observed.sandboxes.map(({ id, state, attempt }) => {
      const how = state === "ready" ? "ready" : "not ready";
      return `sandbox ${shortId(id)} is ${how} (attempt ${attempt}${mark(id)})`;
    }),
    ...observed.containers.map(({ id, name, state, exitCode, restartCount }) => {
      const how = state === "exited" ? `exited with code ${exitCode}` : `is ${state}`;
      return `container ${name} ${how} (${shortId(id)}, restart ${restartCount}${mark(id)})`;
    }),
  ];
}

function recordedStep(report: StepReport): RecordedStep {
  const { kind, target, because, failure, note, startedAtMs, durationMs, spans = [] } = report;
  return {
    action: `${stepText[kind]} ${target}`,
    because,
    outcome: recordedOutcome(failure),
    detail: failure === undefined ? note : failureDetail(failure),
    untilMs: failure?.retryAtMs,
    startedAtMs,
    durationMs,
    spans: notableSpans(spans),
  };
}

function failureDetail({ code, message }: StepFailure): string {
  return code === cancelledCode ? `cancelled: ${message}` : `${code}: ${message}`;
}

function recordedOutcome(failure: StepFailure | undefined): RecordedStep["outcome"] {
  if (failure === undefined) return "done";
  if (failure.code === cancelledCode) return "cancelled";
  return failure.retryAtMs === undefined ? "failed" : "waiting";
}

const stepText: Readonly<Record<StepReport["kind"], string>> = {
  "kill-pod": "stop sandbox of",
  "kill-container": "stop container",
  "reset-container": "remove container",
  "remove-container": "remove container",
  "stop-sandbox": "stop sandbox",
  "remove-sandbox": "remove sandbox",
  "create-sandbox": "create sandbox of",
  resize: "resize",
  "start-ephemeral": "start container",
  "start-init": "start container",
  "start-container": "start container",
  wait: "start container",
};

function shortId(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1).slice(0, 12);
}
