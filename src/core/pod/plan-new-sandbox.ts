import { findObserved, type ObservedPod } from "../../model/observed.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { podRestartPolicy } from "../restart/restart-policy.ts";
import type { SandboxDecision } from "./sandbox-decision.ts";
import type { Step } from "./step.ts";

type NewSandbox = Extract<SandboxDecision, { kind: "create" }>;

/** The steps of a pod without a usable sandbox: it ends, or starts over in a new one. */
export function planNewSandbox(pod: Pod, observed: ObservedPod, sandbox: NewSandbox): Step[] {
  if (podRestartPolicy(pod) === "Never" && sandbox.attempt > 0 && hasBegun(pod, observed)) {
    return [killForGood(`${sandbox.because}, and restartPolicy is Never`)];
  }
  const unfinished = pod.spec.containers
    .map((container, index) => ({ container, index }))
    .filter(({ container }) => !isDone(container, pod, observed));
  if (unfinished.length === 0 && hasInitialized(pod, observed)) {
    return [killForGood(`${sandbox.because}, and all containers have succeeded`)];
  }
  return [
    { kind: "kill-pod", startsOver: true, replaces: [], because: sandbox.because },
    { kind: "create-sandbox", attempt: sandbox.attempt, because: sandbox.because },
    ...firstStarts(pod, unfinished),
  ];
}

interface Indexed {
  readonly container: AnyContainer;
  readonly index: number;
}

/** The first init container alone: each one that ends brings the next. */
function firstStarts(pod: Pod, containers: readonly Indexed[]): Step[] {
  const first = pod.spec.initContainers?.[0];
  if (first !== undefined) {
    const because = `init container ${first.name} is the first to run in the new sandbox`;
    return [{ kind: "start-init", index: 0, name: first.name, because }];
  }
  return containers.map(({ container: { name }, index }) => {
    const because = `container ${name} has to run in the new sandbox`;
    return { kind: "start-container", index, name, because };
  });
}

function killForGood(because: string): Step {
  return { kind: "kill-pod", startsOver: false, replaces: [], because };
}

/** Ephemeral containers are not the pod's work: a pod that has run nothing else can still do all of it. */
function hasBegun(pod: Pod, observed: ObservedPod): boolean {
  const debuggers = new Set((pod.spec.ephemeralContainers ?? []).map(({ name }) => name));
  return observed.containers.some(({ name }) => !debuggers.has(name));
}

/** A container that is only repeated on failure and has succeeded does not run in another sandbox. */
function isDone(container: AnyContainer, pod: Pod, observed: ObservedPod): boolean {
  if ((container.restartPolicy ?? podRestartPolicy(pod)) !== "OnFailure") return false;
  const seen = findObserved(observed, container.name);
  return seen?.state === "exited" && seen.exitCode === 0;
}

/** Regular containers only come into being after all init containers have run. */
function hasInitialized(pod: Pod, observed: ObservedPod): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findObserved(observed, name)?.state;
    return state !== undefined && state !== "unknown";
  });
}
