import type { ObservedPod } from "../../model/observed.ts";
import type { RecordedStep } from "../../ports/agent-view.ts";
import type { StepReport } from "../execute/step-report.ts";

/** What was observed, one line for each sandbox and container, for people. */
export function describeSeen({ sandboxes, containers }: ObservedPod): string[] {
  return [
    ...sandboxes.map(
      ({ id, state, attempt }) =>
        `sandbox ${shortId(id)} is ${state === "ready" ? "ready" : "not ready"} (attempt ${attempt})`,
    ),
    ...containers.map(({ id, name, state, exitCode, restartCount }) => {
      const how = state === "exited" ? `exited with code ${exitCode}` : `is ${state}`;
      return `container ${name} ${how} (${shortId(id)}, restart ${restartCount})`;
    }),
  ];
}

export function recordedStep(report: StepReport): RecordedStep {
  const { action, target, because, failure, note, durationMs } = report;
  const waits = failure?.retryAtMs !== undefined;
  return {
    action: `${actionText[action]} ${target}`,
    because,
    outcome: failure === undefined ? "done" : waits ? "waiting" : "failed",
    detail: failure === undefined ? note : `${failure.code}: ${failure.message}`,
    untilMs: failure?.retryAtMs,
    durationMs,
  };
}

const actionText = {
  KillContainer: "stop container",
  KillPodSandbox: "stop sandbox of",
  RemoveContainer: "remove container",
  CreatePodSandbox: "create sandbox of",
  StartContainer: "start container",
  ResizePodInPlace: "resize",
  SyncPod: "prepare the start of",
} as const;

function shortId(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1).slice(0, 12);
}
