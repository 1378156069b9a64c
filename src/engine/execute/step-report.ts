import { quoteText } from "../../lib/go-text.ts";

/** How a step ended. */
export interface StepOutcome {
  readonly failure?: StepFailure | undefined;
  /** What was out of the ordinary though the step succeeded. */
  readonly note?: string | undefined;
}

/** What became of one step of a plan. */
export interface StepReport extends StepOutcome {
  readonly action:
    | "KillContainer"
    | "KillPodSandbox"
    | "RemoveContainer"
    | "CreatePodSandbox"
    | "StartContainer"
    | "ResizePodInPlace"
    /** What all later steps need and that is no step of its own. */
    | "SyncPod";
  /** The container's name, or the pod. */
  readonly target: string;
  readonly because: string;
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

/** One text for all steps that failed; undefined when none did. */
export function failuresText(reports: readonly StepReport[]): string | undefined {
  const failed = reports.filter(({ failure }) => failure !== undefined);
  const inOrder = [
    ...failed.filter(({ action }) => action === "SyncPod"),
    ...failed.filter(({ action }) => action !== "SyncPod"),
  ];
  const texts = [...new Set(inOrder.map(failureText))];
  return texts.length > 1 ? `[${texts.join(", ")}]` : texts[0];
}

function failureText({ action, target, failure }: StepReport): string {
  const message = failure?.message ?? "";
  if (action === "SyncPod") return `failed to SyncPod: ${message}`;
  return `failed to "${action}" for ${quoteText(target)} with ${failure?.code}: ${quoteText(message)}`;
}
