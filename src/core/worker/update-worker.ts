import { assert } from "../../lib/assert.ts";
import { type Pod, podFullName } from "../../model/pod.ts";
import { isTerminalPhase } from "../status/phase.ts";
import { decideGracePeriod } from "./grace-period.ts";
import type { KillPodOptions, PodSubject, PodUpdate, SpecifiedPod } from "./pod-update.ts";
import type { WorkerEffect, WorkerTransition } from "./worker-effect.ts";
import type {
  Finished,
  PendingUpdate,
  Syncing,
  Terminated,
  Terminating,
  WaitToStart,
  WorkerState,
} from "./worker-state.ts";

/** An update of the pod. Once its end was asked for, every update is a kill. */
export function updateWorker(
  state: WorkerState | undefined,
  update: PodUpdate,
  runtimeStopped: boolean,
): WorkerTransition {
  if (update.pod === undefined && update.updateType !== "kill") return { state, effects: [] };
  if (state === undefined) return meetPod(update, runtimeStopped);
  switch (state.state) {
    case "wait-to-start":
    case "syncing":
      return updateLiving(state, update);
    case "terminating":
      if (update.updateType === "create") return requestRestart(state);
      return updateTerminating(state, update);
    case "terminated":
      if (update.updateType === "create") return requestRestart(state);
      return updateTerminated(state, update);
    case "finished":
      return update.updateType === "create" ? requestRestart(state) : { state, effects: [] };
  }
}

function meetPod(update: PodUpdate, runtimeStopped: boolean): WorkerTransition {
  const fullName = subjectFullName(update);
  const { pod } = update;
  if (
    pod !== undefined &&
    isTerminalPhase(pod.status?.phase) &&
    runtimeStopped &&
    !wasLeftRunning(pod)
  ) {
    // It ended in an earlier life of the agent: only the clean-up is left to do.
    return updateTerminated({ state: "terminated", fullName, ...neverStarted }, update);
  }
  const end = endAskedBy(update);
  if (end !== undefined) {
    return terminate(update, subjectOf(update), newTerminating(fullName, end, update));
  }
  assert(pod !== undefined, "a pod known only to the runtime goes on");
  return living({ state: "wait-to-start", fullName, pending: pendingOf(update, pod) }, update);
}

function updateLiving(state: WaitToStart | Syncing, update: PodUpdate): WorkerTransition {
  const active = state.state === "syncing" ? state.active : undefined;
  const pod = update.pod ?? state.pending?.pod ?? active?.pod;
  assert(pod !== undefined, "a living pod has a spec");
  const end = endAskedBy(update);
  if (end === undefined) {
    return living({ ...state, pending: pendingOf(update, pod, state.pending) }, update);
  }
  const terminating: Terminating = {
    ...newTerminating(state.fullName, end, update),
    started: state.state === "syncing",
    active,
    pending: state.pending,
  };
  const transition = terminate(update, { pod }, terminating);
  return { ...transition, effects: [...transition.effects, { kind: "cancel" }] };
}

/** Kill options mean nothing to a pod that continues: the waiters for the kill are released. */
function living(state: WaitToStart | Syncing, update: PodUpdate): WorkerTransition {
  return { state, effects: [...notifyOf(update.kill), { kind: "wake" }] };
}

function updateTerminating(state: Terminating, update: PodUpdate): WorkerTransition {
  const pod = update.pod ?? state.pending?.pod ?? state.active?.pod;
  const subject = pod === undefined ? subjectOf(update) : { pod };
  const observedRuntime = state.observedRuntime || update.pod === undefined;
  return terminate(update, subject, { ...state, observedRuntime });
}

function terminate(update: PodUpdate, subject: PodSubject, state: Terminating): WorkerTransition {
  const { request, reason, graceSeconds: override } = update.kill ?? {};
  const grace = decideGracePeriod(state.graceSeconds, subject.pod, override);
  const pending: PendingUpdate = {
    ...subject,
    updateType: update.updateType,
    mirrorPod: update.mirrorPod,
    graceSeconds: grace.graceSeconds,
    requestedAtMs: oldest(state.pending?.requestedAtMs, update.requestedAtMs),
  };
  return {
    state: {
      ...state,
      graceSeconds: grace.graceSeconds,
      kills: request === undefined ? state.kills : [...state.kills, request],
      reason: reason ?? state.reason,
      pending,
    },
    effects: grace.changed ? [{ kind: "wake" }, { kind: "cancel" }] : [{ kind: "wake" }],
  };
}

function updateTerminated(state: Terminated, update: PodUpdate): WorkerTransition {
  // Housekeeping saw an old state of the runtime: nothing of the pod runs.
  if (update.pod === undefined) return { state: { ...state, observedRuntime: true }, effects: [] };
  const pending = pendingOf(update, update.pod, state.pending);
  return { state: { ...state, pending }, effects: [...notifyOf(update.kill), { kind: "wake" }] };
}

function requestRestart(state: Terminating | Terminated | Finished): WorkerTransition {
  return { state: { ...state, restartRequested: true }, effects: [] };
}

interface End {
  readonly deleted: boolean;
  readonly evicted: boolean;
}

/** Why the pod must end, if it must. */
function endAskedBy({ pod, updateType, kill }: PodUpdate): End | undefined {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
    return { deleted: true, evicted: false };
  }
  if (isTerminalPhase(pod.status?.phase)) return { deleted: false, evicted: false };
  if (updateType === "kill") return { deleted: false, evicted: kill?.evict === true };
  return undefined;
}

function subjectOf({ pod, runningPod }: PodSubject): PodSubject {
  return pod === undefined ? { runningPod } : { pod };
}

function subjectFullName(subject: PodSubject): string {
  if (subject.pod !== undefined) return podFullName(subject.pod);
  return `${subject.runningPod.name}_${subject.runningPod.namespace}`;
}

/** An earlier agent died between the decision that the pod has failed and the end of its last container. */
function wasLeftRunning(pod: Pod): boolean {
  const { phase, initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const all = [...initContainerStatuses, ...containerStatuses];
  return isTerminalPhase(phase) && all.some(({ state }) => state?.running !== undefined);
}

const neverStarted = {
  started: false,
  observedRuntime: false,
  deleted: false,
  evicted: false,
  restartRequested: false,
} as const;

function newTerminating(fullName: string, end: End, update: PodUpdate): Terminating {
  return {
    state: "terminating",
    fullName,
    ...neverStarted,
    ...end,
    observedRuntime: update.pod === undefined,
    acknowledged: false,
    graceSeconds: 0,
    kills: [],
  };
}

function pendingOf(
  update: PodUpdate,
  pod: Pod,
  replaced?: PendingUpdate,
): PendingUpdate<SpecifiedPod> {
  return {
    pod,
    updateType: update.updateType,
    mirrorPod: update.mirrorPod,
    requestedAtMs: oldest(replaced?.requestedAtMs, update.requestedAtMs),
  };
}

function oldest(replacedMs: number | undefined, ms: number | undefined): number | undefined {
  return replacedMs !== undefined && ms !== undefined && replacedMs < ms ? replacedMs : ms;
}

function notifyOf(kill: KillPodOptions | undefined): readonly WorkerEffect[] {
  return kill?.request === undefined ? [] : [{ kind: "notify", kills: [kill.request] }];
}
