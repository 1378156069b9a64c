import { at, isObject, textAt } from "./json-path.ts";
import { KnownNames, type TraceFolders } from "./known-names.ts";
import { normaliseRequest } from "./normalise-request.ts";
import type { Json } from "./recording.ts";
import type { TracedCall } from "./trace.ts";

/** A call in a form that two machines can agree on. */
export interface PodCall {
  readonly method: string;
  /** What distinguishes it from the pod's other calls of that method. */
  readonly target: string;
  readonly deadlineSeconds: number | undefined;
  /** "ok", the gRPC status of a failure, or a command's exit code. */
  readonly outcome: string;
  readonly request: Json;
}

/** What happened to one pod. */
export interface PodCalls {
  readonly inOrder: readonly PodCall[];
  /** When dead containers and sandboxes go depends on the garbage collector; so they are only a set. */
  readonly removals: readonly PodCall[];
}

/** The commands of preStop hooks, as JSON. */
export type Hooks = ReadonlySet<string>;

interface TimedCall extends PodCall {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const METHODS: ReadonlySet<string> = new Set([
  "RunPodSandbox",
  "CreateContainer",
  "StartContainer",
  "StopContainer",
  "RemoveContainer",
  "StopPodSandbox",
  "RemovePodSandbox",
  "ExecSync",
  "PullImage",
  "UpdateContainerResources",
]);

// Timeouts are whole seconds, rounded by each agent in its own way.
const ROUNDING_SECONDS = 1.5;

/** The calls that change something, by pod (namespace/name). */
export function podCalls(
  trace: readonly TracedCall[],
  folders: TraceFolders,
  hooks: Hooks = new Set(),
): ReadonlyMap<string, PodCalls> {
  const names = new KnownNames(trace, folders);
  const byPod = new Map<string, TimedCall[]>();
  for (const call of trace) {
    const pod = METHODS.has(call.method) ? names.podOf(call) : undefined;
    if (pod === undefined) continue;
    byPod.set(pod, [...(byPod.get(pod) ?? []), timedCall(call, names)]);
  }
  return new Map([...byPod].map(([pod, calls]) => [pod, arrange(calls, hooks)]));
}

function timedCall(call: TracedCall, names: KnownNames): TimedCall {
  const request = normaliseRequest(names.translate(call.request));
  const { method, deadlineSeconds, startSeconds, endSeconds } = call;
  return {
    method,
    target: target(method, request),
    deadlineSeconds,
    outcome: outcome(call),
    request,
    startSeconds,
    endSeconds,
  };
}

function target(method: string, request: Json): string {
  switch (method) {
    case "RunPodSandbox":
      return `attempt ${attempt(request)}`;
    case "CreateContainer":
      return `${textAt(request, "config", "metadata", "name")} attempt ${attempt(request)}`;
    case "PullImage":
      return textAt(request, "image", "image");
    default:
      return textAt(request, "container_id") || textAt(request, "pod_sandbox_id");
  }
}

function attempt(request: Json): number {
  return Number(at(request, "config", "metadata", "attempt") ?? 0);
}

function outcome({ method, failure, response }: TracedCall): string {
  if (failure !== undefined) return failure;
  if (method !== "ExecSync" || !isObject(response)) return "ok";
  return `exit code ${Number(response["exit_code"] ?? 0)}`;
}

function arrange(calls: readonly TimedCall[], hooks: Hooks): PodCalls {
  const kept = withoutRemovals(withoutDoubleStops(calls));
  const steady = foldRepeated(withoutLateProbes(countFromFirst(kept, hooks)));
  return {
    inOrder: orderParallel(steady).map(withoutTimes),
    removals: unique(calls.filter(({ method }) => method.startsWith("Remove")).map(withoutTimes)),
  };
}

/** The collector and the end of a pod may meet at one sandbox, and the runtime at the end of a container. */
function withoutDoubleStops(calls: readonly TimedCall[]): readonly TimedCall[] {
  const isStopOf = (sandbox: string) => (call: TimedCall) =>
    call.method === "StopPodSandbox" && call.target === sandbox;
  return calls.filter((call, index) => {
    if (call.method !== "StopPodSandbox") return true;
    const isRepeated = calls.slice(index + 1).some(isStopOf(call.target));
    if (call.outcome === "Unknown" && isRepeated) return false;
    const overlaps = calls
      .slice(0, index)
      .some(({ target, endSeconds }) => target === call.target && endSeconds > call.startSeconds);
    return !overlaps && call.outcome !== "NotFound";
  });
}

/** Without removals and without the second stop that comes right before a sandbox's removal. */
function withoutRemovals(calls: readonly TimedCall[]): readonly TimedCall[] {
  return calls.filter((call, index) => {
    if (call.method !== "StopPodSandbox") return !call.method.startsWith("Remove");
    const isSame = ({ target }: TimedCall): boolean => target === call.target;
    const isFirst = !calls.slice(0, index).some(isSame);
    return isFirst || calls.slice(index + 1).find(isSame)?.method !== "RemovePodSandbox";
  });
}

/**
 * A container that waits for its hook or for others to end has what they left of the grace period. How fast they
 * were is not the agent's doing: where its timeout is that rest, it is shown as the whole.
 */
function countFromFirst(calls: readonly TimedCall[], hooks: Hooks): readonly TimedCall[] {
  let startSeconds: number | undefined;
  let whole: number | undefined;
  return calls.map((call) => {
    const isHook = call.method === "ExecSync" && hooks.has(JSON.stringify(at(call.request, "cmd")));
    if (call.method !== "StopContainer" && !isHook) {
      startSeconds = undefined;
      whole = undefined;
      return call;
    }
    startSeconds ??= call.startSeconds;
    if (isHook || !isObject(call.request) || call.deadlineSeconds === undefined) return call;
    const passed = call.startSeconds - startSeconds;
    const timeout = stopTimeout(call);
    whole ??= timeout + Math.floor(passed);
    if (Math.abs(timeout + passed - whole) > ROUNDING_SECONDS) return call;
    const request = { ...call.request, timeout: whole };
    return { ...call, request, deadlineSeconds: call.deadlineSeconds + whole - timeout };
  });
}

function stopTimeout({ request }: TimedCall): number {
  return Number(at(request, "timeout") ?? 0);
}

/** How often a probe runs or something fails depends on the moment; what counts is when the result changes. */
function foldRepeated(calls: readonly TimedCall[]): readonly TimedCall[] {
  const last = new Map<string, string>();
  return calls.filter((call) => {
    const { method, target, request, outcome } = call;
    const command = JSON.stringify(at(request, "cmd"));
    const key = `${method} ${target} ${command}`;
    const isRepeated = last.get(key) === outcome;
    last.set(key, outcome);
    return !isRepeated || (method !== "ExecSync" && outcome === "ok");
  });
}

/** A probe that meets the end of its container fails in one way or another, or comes too late. */
function withoutLateProbes(calls: readonly TimedCall[]): readonly TimedCall[] {
  return calls.filter((call) => {
    const isProbe = call.method === "ExecSync" && call.deadlineSeconds !== undefined;
    if (!isProbe) return true;
    const stop = calls.find(
      ({ method, target }) => method === "StopContainer" && target === call.target,
    );
    return stop === undefined || call.endSeconds < stop.startSeconds;
  });
}

/** Containers that are stopped at the same time are put into the order of their names. */
function orderParallel(calls: readonly TimedCall[]): readonly TimedCall[] {
  const groups: { calls: TimedCall[]; endSeconds: number }[] = [];
  for (const call of calls) {
    const group = groups.at(-1);
    if (
      group !== undefined &&
      isStop(call) &&
      isStop(group.calls[0]) &&
      call.startSeconds < group.endSeconds
    ) {
      group.calls.push(call);
      group.endSeconds = Math.max(group.endSeconds, call.endSeconds);
    } else {
      groups.push({ calls: [call], endSeconds: call.endSeconds });
    }
  }
  return groups.flatMap((group) => group.calls.toSorted((a, b) => compareText(a.target, b.target)));
}

function isStop(call: TimedCall | undefined): boolean {
  return call?.method === "StopContainer" || call?.method === "ExecSync";
}

/** One call per removed thing: that which succeeded, if any did. */
function unique(calls: readonly PodCall[]): readonly PodCall[] {
  const byTarget = new Map<string, PodCall>();
  for (const call of calls) {
    const key = `${call.method} ${call.target}`;
    if (byTarget.get(key)?.outcome !== "ok") byTarget.set(key, call);
  }
  return [...byTarget.values()].toSorted((a, b) =>
    compareText(`${a.method} ${a.target}`, `${b.method} ${b.target}`),
  );
}

function withoutTimes({ method, target, deadlineSeconds, outcome, request }: TimedCall): PodCall {
  return { method, target, deadlineSeconds, outcome, request };
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
