import { podKey } from "../../model/pod.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { FreezeReport, Watchdog } from "../../ports/watchdog.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { SourceReadiness } from "../intake/source-readiness.ts";
import type { PodTable } from "../pods/pod-table.ts";
import type { FlightRecorder } from "../view/flight-recorder.ts";

export interface ReportFreezeDeps {
  readonly watchdog: Watchdog;
  readonly table: Pick<PodTable, "get">;
  readonly sources: SourceReadiness;
  readonly events: Pick<PodEvents, "record">;
  readonly recorder: Pick<FlightRecorder, "record">;
  readonly nodeEvents: NodeEvents;
  readonly clock: Clock;
  readonly log: Log;
}

const reason = "AgentFrozen";
const lookMs = 500;

/** Reports once that the agent before this one stood still and was ended: in the log, for the node, and at its pod. */
export async function reportFreeze(deps: ReportFreezeDeps, signal: AbortSignal): Promise<void> {
  const { watchdog, clock, log, nodeEvents, events, recorder } = deps;
  const report = await watchdog.readReport();
  if (report === undefined) return;
  const message = freezeText(report);
  log.error("the agent before this one stood still and was ended by its watchdog", { ...report });
  nodeEvents.recordNode({ type: "Warning", reason, message });
  // Its pod may come from a source that takes its time.
  let pod = deps.table.get(report.podUid)?.wanted;
  while (pod === undefined && !deps.sources.areAllReady) {
    await clock.sleep(lookMs, signal);
    pod = deps.table.get(report.podUid)?.wanted;
  }
  if (pod !== undefined) {
    recorder.record({
      podUid: report.podUid,
      pod: podKey(pod),
      kind: "sync",
      startedAtMs: report.atMs,
      durationMs: report.stillMs,
      steps: [],
      error: message,
    });
    events.record(pod, { type: "Warning", reason, message });
  }
  await watchdog.forgetReport();
}

function freezeText({ kind, stillMs, step, stack }: FreezeReport): string {
  const what = kind === "thread" ? "the agent's thread stood still" : "the sync loop did not turn";
  const doing = step === "" ? "" : `; the last thing it began was: ${step}`;
  const where = stack[0] === undefined ? "" : `, at ${stack[0]}`;
  return `${what} for ${Math.round(stillMs / 1000)} s, and its watchdog ended the process${doing}${where}`;
}
