import { assertNever } from "../../lib/assert.ts";
import { findObserved, type ObservedContainer, type ObservedPod } from "../../model/observed.ts";
import { type AnyContainer, isSidecar, type Pod } from "../../model/pod.ts";
import { containerHash } from "../container/container-hash.ts";
import { decideRestart, restartsWithoutExitCode } from "../restart/restart-policy.ts";
import { shouldRestartContainer } from "../restart/should-restart.ts";
import {
  type ContainerDecision,
  killAndStart,
  leaveAlone,
  resizeRunning,
  type Subject,
  start,
} from "./container-decision.ts";
import type { PlanPodInput } from "./plan-input.ts";

export type InitPlan =
  | {
      readonly kind: "running";
      /** Every init container has done its part: regular containers may start. */
      readonly initialized: boolean;
      /** In start order. */
      readonly decisions: readonly ContainerDecision[];
    }
  | { readonly kind: "failed"; readonly because: string };

/** What the init container that was reached last amounts to. */
type Progress =
  | { readonly kind: "failed"; readonly because: string }
  /** Done, or a started sidecar: the next one may start. `because` says which. */
  | { readonly kind: "passed"; readonly because: string; readonly decision: ContainerDecision }
  | { readonly kind: "pending"; readonly decision: ContainerDecision };

/**
 * Init containers run one after the other; a sidecar among them stays. The last one that exists marks how
 * far the pod has come, since the runtime may have lost earlier ones: before it only sidecars matter.
 */
export function planInitContainers(input: PlanPodInput): InitPlan {
  const { pod, observed } = input;
  const containers = pod.spec.initContainers ?? [];
  const [first] = containers;
  if (first === undefined || hasRegularContainer(input)) {
    const decisions = keepSidecars(input, containers);
    return { kind: "running", initialized: true, decisions };
  }
  const reached = containers.findLastIndex(({ name }) => findInNewestSandbox(observed, name));
  const container = containers[reached];
  const seen = container && findInNewestSandbox(observed, container.name);
  if (container === undefined || seen === undefined) {
    const because = `no init container has run yet, and ${first.name} is the first`;
    const subject = initSubject(first, 0);
    return { kind: "running", initialized: false, decisions: [{ start: start(subject, because) }] };
  }
  const progress = judgeReached(input, initSubject(container, reached), seen);
  if (progress.kind === "failed") return progress;
  const decisions = [...keepSidecars(input, containers.slice(0, reached)), progress.decision];
  if (progress.kind === "pending") return { kind: "running", initialized: false, decisions };
  const next = containers[reached + 1];
  if (next === undefined) return { kind: "running", initialized: true, decisions };
  const startNext = start(initSubject(next, reached + 1), progress.because);
  return { kind: "running", initialized: false, decisions: [...decisions, { start: startNext }] };
}

function initSubject(container: AnyContainer, index: number): Subject {
  return { kind: "start-init", container, index };
}

/** An exited one proves nothing: it may be left from an earlier sandbox. So may one that was never started. */
function hasRegularContainer({ pod, observed }: PlanPodInput): boolean {
  return pod.spec.containers.some(({ name }) => {
    if (findObserved(observed, name)?.state === "running") return true;
    return findInNewestSandbox(observed, name)?.state === "created";
  });
}

/** What ran in an earlier sandbox and could not be removed has done nothing for this one. */
function findInNewestSandbox(observed: ObservedPod, name: string): ObservedContainer | undefined {
  const seen = findObserved(observed, name);
  if (seen?.sandboxId === undefined) return seen;
  return seen.sandboxId === observed.sandboxes[0]?.id ? seen : undefined;
}

function keepSidecars(
  input: PlanPodInput,
  containers: readonly AnyContainer[],
): ContainerDecision[] {
  return containers.flatMap((container, index) => {
    if (!isSidecar(container)) return [];
    const subject = initSubject(container, index);
    const seen = findObserved(input.observed, container.name);
    if (seen !== undefined) return [judgeSidecar(input, subject, seen).decision];
    return [{ start: start(subject, `sidecar ${container.name} does not exist`) }];
  });
}

function judgeReached(input: PlanPodInput, subject: Subject, seen: ObservedContainer): Progress {
  if (!isSidecar(subject.container)) return judgeInitContainer(input, subject, seen);
  const { decision, started } = judgeSidecar(input, subject, seen);
  if (!started) return { kind: "pending", decision };
  return { kind: "passed", because: `sidecar ${seen.name} has started`, decision };
}

function judgeInitContainer(
  input: PlanPodInput,
  subject: Subject,
  seen: ObservedContainer,
): Progress {
  const { name } = subject.container;
  switch (seen.state) {
    case "created": {
      const because = `init container ${name} was created but never started`;
      return { kind: "pending", decision: { start: start(subject, because) } };
    }
    case "running":
      return { kind: "pending", decision: resizeRunning(input, subject, seen) };
    case "exited":
      return judgeExited(input, subject, seen);
    case "unknown":
      if (!restartsWithoutExitCode(subject.container, input.pod)) {
        const because = `the state of init container ${name} is unknown and its restart policy is Never`;
        return { kind: "failed", because };
      }
      return { kind: "pending", decision: restartUnknown(subject, seen) };
    default:
      return assertNever(seen.state);
  }
}

function judgeExited(
  { pod, observed }: PlanPodInput,
  subject: Subject,
  seen: ObservedContainer,
): Progress {
  const { container } = subject;
  if (seen.exitCode === 0 && seen.reason !== "OOMKilled") {
    const because = `init container ${container.name} has completed`;
    return { kind: "passed", because, decision: leaveAlone };
  }
  const because = `init container ${container.name} ${whyFailed(pod, container, seen)}`;
  if (!shouldRestartContainer(container, pod, observed)) return { kind: "failed", because };
  return { kind: "pending", decision: { start: start(subject, because) } };
}

function whyFailed(pod: Pod, container: AnyContainer, seen: ObservedContainer): string {
  const how =
    seen.reason === "OOMKilled"
      ? "was killed for lack of memory"
      : `exited with code ${seen.exitCode}`;
  if (pod.metadata.deletionTimestamp !== undefined) return `${how} and the pod is being deleted`;
  return `${how} and ${decideRestart(container, pod, seen.exitCode).because}`;
}

/** A sidecar always runs again. `started`: init containers after it need not wait for it. */
function judgeSidecar(
  input: PlanPodInput,
  subject: Subject,
  seen: ObservedContainer,
): { readonly decision: ContainerDecision; readonly started: boolean } {
  const { name } = subject.container;
  switch (seen.state) {
    case "created": {
      const because = `sidecar ${name} was created but never started`;
      return { decision: { start: start(subject, because) }, started: false };
    }
    case "running":
      return judgeRunningSidecar(input, subject, seen);
    case "exited": {
      const because = `sidecar ${name} exited with code ${seen.exitCode}`;
      return { decision: { start: start(subject, because) }, started: false };
    }
    case "unknown":
      return { decision: restartUnknown(subject, seen), started: false };
    default:
      return assertNever(seen.state);
  }
}

function judgeRunningSidecar(
  input: PlanPodInput,
  subject: Subject,
  seen: ObservedContainer,
): { readonly decision: ContainerDecision; readonly started: boolean } {
  const { container } = subject;
  const { name } = container;
  if (container.startupProbe !== undefined) {
    const startup = input.startupResults.get(seen.id);
    if (startup === "Failure") {
      const message = `Init container ${name} failed startup probe`;
      const because = `the startup probe of sidecar ${name} failed`;
      const fault = { message, reason: "StartupProbe", because } as const;
      return { decision: killAndStart(subject, seen, fault), started: false };
    }
    if (startup !== "Success") return { decision: leaveAlone, started: false };
  }
  const hash = containerHash(container);
  if (seen.hash !== hash) {
    const message = `Init container ${name} definition changed`;
    const because = `the spec hash of sidecar ${name} changed from ${seen.hash} to ${hash}`;
    return {
      decision: killAndStart(subject, seen, { message, reason: "", because }),
      started: true,
    };
  }
  const liveness = input.livenessResults.get(seen.id);
  if (container.livenessProbe !== undefined && liveness === "Failure") {
    const message = `Init container ${name} failed liveness probe`;
    const because = `the liveness probe of sidecar ${name} failed`;
    const fault = { message, reason: "LivenessProbe", because } as const;
    return { decision: killAndStart(subject, seen, fault), started: true };
  }
  // Its resources wait for the first answer of its liveness probe.
  if (container.livenessProbe !== undefined && liveness === undefined) {
    return { decision: leaveAlone, started: true };
  }
  return { decision: resizeRunning(input, subject, seen), started: true };
}

function restartUnknown(subject: Subject, seen: ObservedContainer): ContainerDecision {
  return killAndStart(subject, seen, {
    message: `Init container is in "unknown" state, try killing it before restart`,
    reason: "Unknown",
    because: `the runtime does not know whether init container ${seen.name} runs`,
  });
}
