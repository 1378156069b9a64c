import type { ObservedContainer } from "../../model/observed.ts";
import { findContainer } from "../../model/pod.ts";
import { restartBackoff } from "../restart/crash-loop-backoff.ts";
import type { PlanPodInput } from "./plan-input.ts";
import { planClearing } from "./plan-removals.ts";
import type { StartContainerStep, Step } from "./step.ts";

/** The start of a container with what has to come before it, or what it waits for. */
export function planStart(
  { pod, observed, nowMs, restarts }: PlanPodInput,
  start: StartContainerStep,
  isPodKilled: boolean,
): Step[] {
  const { kind, index, name, because } = start;
  const container = findContainer(pod, name)?.container ?? { name };
  const attempt = { pod, container, observed, nowMs };
  const backoff = restartBackoff(restarts.history, attempt, restarts.limits);
  const waiting = { kind: "wait", starts: kind, index, name, because } as const;
  if (backoff.kind === "wait") {
    return [{ ...waiting, untilMs: backoff.untilMs, message: backoff.message }];
  }
  const running = isPodKilled ? undefined : runningBefore(observed.containers, name);
  const step: Step =
    running === undefined
      ? { ...start, nextDelayMs: backoff.nextDelayMs }
      : { ...waiting, message: `an instance that an earlier call started runs: ${running.id}` };
  return [...planClearing(observed, name), step];
}

/** A create that was believed lost may come after the one that took its place: never two of them run. */
function runningBefore(
  containers: readonly ObservedContainer[],
  name: string,
): ObservedContainer | undefined {
  const [, ...older] = containers.filter((container) => container.name === name);
  return older.find(({ state }) => state === "running");
}
