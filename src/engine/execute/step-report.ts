/** What became of one step of a plan. */
export interface StepReport {
  readonly action:
    | "KillContainer"
    | "KillPodSandbox"
    | "RemoveContainer"
    | "CreatePodSandbox"
    | "StartContainer"
    | "ResizePodInPlace";
  /** The container's name, or the pod. */
  readonly target: string;
  readonly because: string;
  readonly failure?: StepFailure | undefined;
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
  const texts = reports
    .filter(({ failure }) => failure !== undefined)
    .map(
      ({ action, target, failure }) =>
        `failed to "${action}" for "${target}" with ${failure?.code}: "${failure?.message}"`,
    );
  return texts.length > 1 ? `[${texts.join(", ")}]` : texts[0];
}
