import type { Step } from "../../core/pod/step.ts";
import { errorText } from "../../lib/error-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import { type ContainerKind, findContainer, type Pod } from "../../model/pod.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { RecordedSpan } from "../../ports/sync-record.ts";

/** How a step ended. */
export interface StepOutcome {
  readonly failure?: StepFailure | undefined;
  /** What was out of the ordinary though the step succeeded. */
  readonly note?: string | undefined;
  /** What it spent its time with. */
  readonly spans?: readonly RecordedSpan[] | undefined;
  /** What the step consisted of, reported instead of the step itself. */
  readonly parts?: readonly StepReport[] | undefined;
}

/** What became of one step of a plan. */
export interface StepReport extends Omit<StepOutcome, "parts"> {
  /** Of a kill-pod step: its containers one by one, as kill-container, and then its sandboxes. */
  readonly kind: Step["kind"];
  /** The container's name, the sandbox, or the pod. */
  readonly target: string;
  readonly because: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Why a step failed, in the words users see in a container's waiting state. */
export interface StepFailure {
  /** Such as CrashLoopBackOff, ErrImagePull, CreateContainerError. */
  readonly code: string;
  readonly message: string;
  /** When trying again makes sense; set while a backoff runs. */
  readonly retryAtMs?: number | undefined;
}

/** The code of a failure in what all later steps need: no fault of the step that came to it. */
export const syncFailed = "SyncPodError";

/** The code of a step that was ended before it was done: nothing is wrong with it. */
export const cancelledCode = "Cancelled";

/** What an aborted signal says about the step that it ended. */
export function cancelledFailure({ reason }: AbortSignal): StepFailure {
  return { code: cancelledCode, message: errorText(reason) };
}

/** What a kubelet calls the steps, in errors that users know. */
const kubeletActions: Readonly<Record<Step["kind"], string>> = {
  "kill-pod": "KillPodSandbox",
  "kill-container": "KillContainer",
  "reset-container": "RemoveContainer",
  "remove-container": "RemoveContainer",
  "stop-sandbox": "KillPodSandbox",
  "remove-sandbox": "RemovePodSandbox",
  "create-sandbox": "CreatePodSandbox",
  resize: "ResizePodInPlace",
  "start-ephemeral": "StartContainer",
  "start-init": "StartContainer",
  "start-container": "StartContainer",
  wait: "StartContainer",
};

export function kubeletAction({ kind, failure }: Pick<StepReport, "kind" | "failure">): string {
  return failure?.code === syncFailed ? "SyncPod" : kubeletActions[kind];
}

/** Whether the report says that a container was started, or why it was not. */
export function isAboutStart({ kind, failure }: StepReport): boolean {
  return kubeletAction({ kind, failure }) === "StartContainer";
}

/** One text for all steps that failed; undefined when none did. */
export function failuresText(reports: readonly StepReport[]): string | undefined {
  const failed = reports.filter(({ failure }) => failure !== undefined);
  const inOrder = [
    ...failed.filter(({ failure }) => failure?.code === syncFailed),
    ...failed.filter(({ failure }) => failure?.code !== syncFailed),
  ];
  const texts = [...new Set(inOrder.map(failureText))];
  return texts.length > 1 ? `[${texts.join(", ")}]` : texts[0];
}

function failureText(report: StepReport): string {
  const { target, failure } = report;
  const message = failure?.message ?? "";
  if (failure?.code === syncFailed) return `failed to SyncPod: ${message}`;
  return `failed to "${kubeletAction(report)}" for ${quoteText(target)} with ${failure?.code}: ${quoteText(message)}`;
}

/** Counts what a plan that was carried out has started. */
export function countSteps(
  metrics: Pick<Metrics, "increment">,
  pod: Pod,
  reports: readonly StepReport[],
): void {
  for (const report of reports) {
    const { kind: step, target, failure } = report;
    if (step === "create-sandbox") {
      const isCreated = failure === undefined || failure.code === syncFailed;
      metrics.increment("kubelet_started_pods_total");
      if (!isCreated) metrics.increment("kubelet_started_pods_errors_total");
      if (pod.spec.hostUsers !== false) continue;
      metrics.increment("kubelet_started_user_namespaced_pods_total");
      if (isCreated) continue;
      metrics.increment("kubelet_started_user_namespaced_pods_errors_total");
    }
    // A container that waits its turn was not started at all.
    if (!isAboutStart(report) || step === "wait" || failure?.retryAtMs !== undefined) continue;
    const kind = findContainer(pod, target)?.kind ?? "regular";
    const labels = { container_type: containerTypes[kind] };
    metrics.increment("kubelet_started_containers_total", labels);
    if (failure === undefined) continue;
    metrics.increment("kubelet_started_containers_errors_total", {
      ...labels,
      code: failure.code,
    });
  }
}

/** What metrics call the kinds of containers. */
export const containerTypes: Readonly<Record<ContainerKind, string>> = {
  init: "init_container",
  regular: "container",
  ephemeral: "ephemeral_container",
};
