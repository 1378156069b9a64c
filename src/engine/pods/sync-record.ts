import { standingsOf } from "../../core/observe/classify-pod.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { RecordedStep } from "../../ports/agent-view.ts";
import type { StepReport } from "../execute/step-report.ts";

/** What was observed, one line for each sandbox and container, for people. */
export function describeSeen(observed: ObservedPod): string[] {
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

export function recordedStep(report: StepReport): RecordedStep {
  const { kind, target, because, failure, note, durationMs } = report;
  const waits = failure?.retryAtMs !== undefined;
  return {
    action: `${stepText[kind]} ${target}`,
    because,
    outcome: failure === undefined ? "done" : waits ? "waiting" : "failed",
    detail: failure === undefined ? note : `${failure.code}: ${failure.message}`,
    untilMs: failure?.retryAtMs,
    durationMs,
  };
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
