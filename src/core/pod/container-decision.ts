import { assertNever } from "../../lib/assert.ts";
import type { ObservedContainer } from "../../model/observed.ts";
import type { AnyContainer } from "../../model/pod.ts";
import type { PlanPodInput } from "./plan-input.ts";
import { decideResize, type InPlaceResize } from "./resize-decision.ts";
import type { ContainerKillReason, KillContainerStep, StartContainerStep } from "./step.ts";

/** What happens to one container; nothing set = it is left as it is. */
export interface ContainerDecision {
  readonly kill?: KillContainerStep | undefined;
  readonly start?: StartContainerStep | undefined;
  readonly resize?: InPlaceResize | undefined;
  /** Set when it restarts to get new resources: the sentence that says so. */
  readonly restartToResize?: string | undefined;
}

export const leaveAlone: ContainerDecision = {};

/** A container and its place in its list of the spec. */
export interface Subject {
  readonly kind: StartContainerStep["kind"];
  readonly container: AnyContainer;
  readonly index: number;
}

export function start({ kind, container, index }: Subject, because: string): StartContainerStep {
  return { kind, index, name: container.name, because };
}

export interface Fault {
  /** The text of the Killing event. */
  readonly message: string;
  readonly reason: ContainerKillReason;
  readonly because: string;
}

export function kill(seen: ObservedContainer, fault: Fault): KillContainerStep {
  return { kind: "kill-container", containerId: seen.id, name: seen.name, ...fault };
}

export function killAndStart(
  subject: Subject,
  seen: ObservedContainer,
  fault: Fault,
): ContainerDecision {
  return { kill: kill(seen, fault), start: start(subject, fault.because) };
}

/** The decision about a running container whose only question left is its resources. */
export function resizeRunning(
  input: PlanPodInput,
  subject: Subject,
  seen: ObservedContainer,
): ContainerDecision {
  const decision = decideResize(input, subject.container, seen);
  switch (decision.kind) {
    case "none":
      return leaveAlone;
    case "in-place":
      return { resize: decision };
    case "restart": {
      const { because } = decision;
      const message = `Container ${subject.container.name} resize requires restart`;
      const fault: Fault = { message, reason: "", because };
      return { ...killAndStart(subject, seen, fault), restartToResize: because };
    }
    default:
      return assertNever(decision);
  }
}
