import { findObserved, type ObservedContainer } from "../../model/observed.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { containerHash } from "../container/container-hash.ts";
import { decideRestart, restartsWithoutExitCode } from "../restart/restart-policy.ts";
import { shouldRestartContainer } from "../restart/should-restart.ts";
import {
  type ContainerDecision,
  type Fault,
  kill,
  killAndStart,
  leaveAlone,
  resizeRunning,
  type Subject,
  start,
} from "./container-decision.ts";
import type { PlanPodInput } from "./plan-input.ts";

export interface ContainersPlan {
  readonly decisions: readonly ContainerDecision[];
  /** No container runs on and none is started: the pod has nothing left to do. */
  readonly finished: boolean;
}

/** Decides about the regular containers of a pod whose init containers are done. */
export function planContainers(input: PlanPodInput): ContainersPlan {
  const decided = input.pod.spec.containers.map((container, index) =>
    decideContainer(input, { kind: "start-container", container, index }),
  );
  return {
    decisions: decided.map(({ decision }) => decision),
    finished: decided.every(({ runsOn, decision }) => !runsOn && decision.start === undefined),
  };
}

function decideContainer(
  input: PlanPodInput,
  subject: Subject,
): { readonly decision: ContainerDecision; readonly runsOn: boolean } {
  const seen = findObserved(input.observed, subject.container.name);
  if (seen?.state !== "running") {
    return { decision: decideStopped(input, subject, seen), runsOn: false };
  }
  const fault = findFault(input, subject.container, seen);
  if (fault === undefined) {
    const decision = resizeRunning(input, subject, seen);
    return { decision, runsOn: decision.kill === undefined };
  }
  if (!fault.restart) return { decision: { kill: kill(seen, fault.fault) }, runsOn: false };
  const announced = { ...fault.fault, message: `${fault.fault.message}, will be restarted` };
  return { decision: killAndStart(subject, seen, announced), runsOn: false };
}

function decideStopped(
  { pod, observed }: PlanPodInput,
  subject: Subject,
  seen: ObservedContainer | undefined,
): ContainerDecision {
  if (!shouldRestartContainer(subject.container, pod, observed)) return leaveAlone;
  if (seen?.state === "unknown") {
    return killAndStart(subject, seen, {
      message: `Container is in "unknown" state, try killing it before restart`,
      reason: "Unknown",
      because: `the runtime does not know whether container ${seen.name} runs`,
    });
  }
  return { start: start(subject, whyStart(pod, subject.container, seen)) };
}

function whyStart(pod: Pod, container: AnyContainer, seen: ObservedContainer | undefined): string {
  const { name } = container;
  if (seen === undefined) return `container ${name} does not exist`;
  if (seen.state === "created") return `container ${name} was created but never started`;
  const { because } = decideRestart(container, pod, seen.exitCode);
  return `container ${name} exited with code ${seen.exitCode} and ${because}`;
}

/** What is wrong with a running container, and whether it runs again once it is stopped. */
function findFault(
  { pod, livenessResults, startupResults }: PlanPodInput,
  container: AnyContainer,
  seen: ObservedContainer,
): { readonly fault: Fault; readonly restart: boolean } | undefined {
  const { name } = container;
  const hash = containerHash(container);
  if (seen.hash !== hash) {
    const because = `the spec hash of container ${name} changed from ${seen.hash} to ${hash}`;
    // A changed definition was asked for, so that no restart policy holds it back.
    const message = `Container ${name} definition changed`;
    return { fault: { message, reason: "", because }, restart: true };
  }
  const restart = restartsWithoutExitCode(container, pod);
  if (livenessResults.get(seen.id) === "Failure") {
    const because = `the liveness probe of container ${name} failed`;
    const message = `Container ${name} failed liveness probe`;
    return { fault: { message, reason: "LivenessProbe", because }, restart };
  }
  if (startupResults.get(seen.id) === "Failure") {
    const because = `the startup probe of container ${name} failed`;
    const message = `Container ${name} failed startup probe`;
    return { fault: { message, reason: "StartupProbe", because }, restart };
  }
  return undefined;
}
