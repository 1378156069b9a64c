import { withoutLeftovers } from "../../core/observe/classify-pod.ts";
import type { EndPlan } from "../../core/pod/plan-end.ts";
import type {
  CreateSandboxStep,
  KillContainerStep,
  KillPodStep,
  PodPlan,
  RemoveContainerStep,
  RemoveSandboxStep,
  ResetContainerStep,
  ResizeStep,
  StartContainerStep,
  Step,
  StopSandboxStep,
  WaitStep,
} from "../../core/pod/step.ts";
import { assert } from "../../lib/assert.ts";
import { errorText } from "../../lib/error-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PodSandboxConfig } from "../../model/generated/cri.ts";
import { type ContainerId, rawContainerId } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { findContainer, isSidecar, type Pod, podDisplayName } from "../../model/pod.ts";
import { isNotFound, runtimeErrorText } from "../../model/runtime-error.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { RecordedSpan } from "../../ports/sync-record.ts";
import type { Watchdog } from "../../ports/watchdog.ts";
import type { PodCredentials } from "../images/pull-credentials.ts";
import { createSandbox, readSandboxIps } from "./create-sandbox.ts";
import { type KillContainerRequest, type KillDeps, killPod, tryKillContainer } from "./kill-pod.ts";
import type { LeftoverEnds } from "./leftover-ends.ts";
import {
  type RemoveContainerDeps,
  removeContainer,
  removeUnlessStarted,
} from "./remove-container.ts";
import { type ResizeDeps, resizePod } from "./resize-pod.ts";
import type { Restarts } from "./restarts.ts";
import { type StartDeps, startContainer } from "./start-container.ts";
import {
  cancelledCode,
  cancelledFailure,
  type StepFailure,
  type StepOutcome,
  type StepReport,
  syncFailed,
} from "./step-report.ts";

const removeFailed = "RemoveContainerError";

/** What stops and removes pods. */
export interface EndExecutorDeps {
  readonly kill: KillDeps;
  readonly remove: RemoveContainerDeps & {
    readonly runtime: Pick<ContainerRuntime, "stopPodSandbox" | "removePodSandbox">;
    /** Ends with the agent: a call to the runtime is not cut off because a pod's sync is. */
    readonly lifetime: AbortSignal;
  };
  readonly watchdog?: Pick<Watchdog, "progress"> | undefined;
}

/** What also runs them. */
export interface ExecutorDeps extends EndExecutorDeps {
  readonly start: StartDeps;
  readonly leftovers: LeftoverEnds;
  readonly resize: ResizeDeps;
  readonly restarts: Restarts;
}

export interface ExecuteRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly plan: PodPlan | EndPlan;
  /** Absent = the plan starts nothing. */
  readonly starting?: StartingPod | undefined;
}

interface StartingPod {
  readonly deps: ExecutorDeps;
  readonly pullCredentials: PodCredentials;
  /** Called once a new sandbox has its network. */
  readonly onSandboxReady: () => void;
}

export interface ExecutedPlan {
  /** Of all steps that were begun, also of the one that was cut short. */
  readonly reports: readonly StepReport[];
  /** What ended it before its last step: the reason of the abort, or what a step threw. */
  readonly error?: unknown;
}

/**
 * Carries a plan out in its order. After a step that later ones stand on has failed, only leftovers are still ended.
 * When `signal` aborts it ends before the next step; only waiting, pulling, hooks and stops are cut short. Never rejects:
 * what was done before the end is reported.
 */
export async function executePlan(
  deps: EndExecutorDeps,
  request: ExecuteRequest,
  signal: AbortSignal,
): Promise<ExecutedPlan> {
  const run = new PlanRun(deps, request, signal);
  const { reports } = run;
  let hasFailed = false;
  try {
    for (const step of request.plan.steps) {
      if (hasFailed && !isAboutLeftover(step)) continue;
      signal.throwIfAborted();
      const { failure } = await run.carryOut(step);
      if (failure?.code === cancelledCode) signal.throwIfAborted();
      hasFailed ||= failure !== undefined && needsSuccess(request.pod, step, failure);
    }
    return { reports };
  } catch (error) {
    return { reports, error };
  }
}

type Executors = {
  readonly [Kind in Step["kind"]]: (
    run: PlanRun,
    step: Extract<Step, { readonly kind: Kind }>,
  ) => Promise<StepOutcome>;
};

const executors: Executors = {
  "kill-pod": (run, step) => run.killPod(step),
  "kill-container": (run, step) => run.killContainer(step),
  "reset-container": (run, step) => run.resetContainer(step),
  "remove-container": (run, step) => run.removeContainer(step),
  "stop-sandbox": (run, step) => run.stopSandbox(step),
  "remove-sandbox": (run, step) => run.removeSandbox(step),
  "create-sandbox": (run, step) => run.createSandbox(step),
  resize: (run, step) => run.resize(step),
  "start-ephemeral": (run, step) => run.start(step),
  "start-init": (run, step) => run.start(step),
  "start-container": (run, step) => run.start(step),
  wait: (run, step) => run.wait(step),
};

function execute<Kind extends Step["kind"]>(
  run: PlanRun,
  step: Extract<Step, { readonly kind: Kind }>,
): Promise<StepOutcome> {
  const executor: Executors[Kind] = executors[step.kind];
  return executor(run, step);
}

function isAboutLeftover(step: Step): boolean {
  return (
    step.kind === "stop-sandbox" ||
    (step.kind === "remove-container" && step.standing === "leftover")
  );
}

/** Whether the steps after one that failed stand on it. */
function needsSuccess(pod: Pod, step: Step, { code }: StepFailure): boolean {
  if (code === syncFailed) return true;
  switch (step.kind) {
    case "kill-pod":
    case "kill-container":
    case "reset-container":
    case "create-sandbox":
      return true;
    case "start-init":
      return !isSidecarOf(pod, step.name);
    case "wait":
      return step.starts === "start-init" && !isSidecarOf(pod, step.name);
    // A sidecar, an ephemeral or a regular container that cannot start keeps no other one from starting; what runs
    // keeps the resources it had until the next try; and what cannot be removed is only in the way of its own kind.
    default:
      return false;
  }
}

function isSidecarOf(pod: Pod, name: string): boolean {
  const placed = findContainer(pod, name);
  return placed !== undefined && isSidecar(placed.container);
}

/** One plan being carried out: what its steps hand on is the sandbox, its config and its addresses. */
class PlanRun {
  readonly reports: StepReport[] = [];
  readonly #deps: EndExecutorDeps;
  readonly #request: ExecuteRequest;
  readonly #plan: PodPlan;
  readonly #signal: AbortSignal;
  /** Why no other instance of a container may be created, by its name; why a sandbox stays, by its id. */
  readonly #inTheWay = new Map<string, StepOutcome>();
  #sandboxId: string;
  #sandboxConfig: PodSandboxConfig | undefined;
  #podIps: readonly string[];

  constructor(deps: EndExecutorDeps, request: ExecuteRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#plan = { sandboxAttempt: 0, ...request.plan };
    this.#sandboxId = this.#plan.sandboxId ?? "";
    this.#podIps = request.observed.ips;
  }

  async carryOut(step: Step): Promise<StepOutcome> {
    const { watchdog, kill } = this.#deps;
    const { clock } = kill;
    const { kind, because } = step;
    const target = this.#target(step);
    watchdog?.progress.noteStep(this.#request.pod.metadata.uid, `${kind} ${target}`);
    const startedAtMs = clock.nowMs();
    const startedMs = clock.monotonicMs();
    const report = ({ parts, ...outcome }: StepOutcome): StepOutcome => {
      const durationMs = clock.monotonicMs() - startedMs;
      const own = { kind, target, because, ...outcome, startedAtMs, durationMs };
      this.reports.push(...(parts ?? [own]));
      return outcome;
    };
    try {
      return report(await execute(this, step));
    } catch (error) {
      report({ failure: this.#failureOf(error) });
      throw error;
    }
  }

  #failureOf(error: unknown): StepFailure {
    const aborted = [this.#signal, this.#deps.remove.lifetime].find((signal) => signal.aborted);
    if (aborted !== undefined) return cancelledFailure(aborted);
    return { code: "UnexpectedError", message: errorText(error) };
  }

  /** The container's name, the sandbox, or the pod. */
  #target(step: Step): string {
    if ("name" in step) return step.name;
    return "sandboxId" in step ? step.sandboxId : podDisplayName(this.#request.pod);
  }

  async killPod({ because, graceSeconds }: KillPodStep): Promise<StepOutcome> {
    const { pod } = this.#request;
    const { steps, sandboxId } = this.#plan;
    const recreates = steps.some(({ kind }) => kind === "create-sandbox");
    if (recreates && sandboxId !== undefined) {
      this.#deps.kill.events.record(pod, {
        type: "Normal",
        reason: "SandboxChanged",
        message: "Pod sandbox changed, it will be killed and re-created.",
      });
    }
    const observed = withoutLeftovers(this.#request.observed);
    const request = { pod, observed, graceOverrideSeconds: graceSeconds, because };
    const parts = await killPod(this.#deps.kill, request, this.#signal);
    // The sandbox is last, and what was cancelled shows there.
    const failed = parts.findLast(({ failure }) => failure !== undefined);
    return { failure: failed?.failure, parts };
  }

  async killContainer(step: KillContainerStep): Promise<StepOutcome> {
    const { message, reason } = step;
    const spans: RecordedSpan[] = [];
    return { failure: await this.#stopContainer(step, { message, reason, spans }), spans };
  }

  async resetContainer(step: ResetContainerStep): Promise<StepOutcome> {
    if (step.kill) {
      const failure = await this.#stopContainer(step, {
        message: "killing",
        reason: "RestartAllContainers",
        graceOverrideSeconds: 0,
      });
      if (failure !== undefined) return { failure };
    }
    return this.#remove(step.containerId, true);
  }

  async removeContainer(step: RemoveContainerStep): Promise<StepOutcome> {
    const { containerId, name, keepLogs, unlessStarted } = step;
    const remove = (): Promise<StepOutcome> => this.#remove(containerId, keepLogs);
    if (step.standing === "leftover") return this.#endLeftover(containerId, removeFailed, remove);
    if (!unlessStarted) return remove();
    const { runtime, lifetime } = this.#deps.remove;
    const id = rawContainerId(containerId);
    try {
      if (await removeUnlessStarted(runtime, id, lifetime)) return {};
      const outcome = { note: `an instance that an earlier call started runs: ${id}` };
      this.#inTheWay.set(name, outcome);
      return outcome;
    } catch (error) {
      this.#signal.throwIfAborted();
      const text = runtimeErrorText(error);
      const message = `cannot remove an earlier instance: ${text}`;
      this.#inTheWay.set(name, { failure: { code: "CreateContainerError", message } });
      return { failure: { code: removeFailed, message: text } };
    }
  }

  async #remove(containerId: ContainerId, keepLogs: boolean): Promise<StepOutcome> {
    try {
      const { remove } = this.#deps;
      const id = rawContainerId(containerId);
      await removeContainer(remove, id, { keepLogs }, remove.lifetime);
      return {};
    } catch (error) {
      return { failure: { code: removeFailed, message: runtimeErrorText(error) } };
    }
  }

  async #stopContainer(
    { containerId: id, name }: KillContainerStep | ResetContainerStep,
    how: Pick<KillContainerRequest, "message" | "reason" | "graceOverrideSeconds" | "spans">,
  ): Promise<StepFailure | undefined> {
    const { pod } = this.#request;
    const request = { pod, name, id, podIp: this.#podIps[0] ?? "", ...how };
    const failure = await tryKillContainer(this.#deps.kill, request, this.#signal);
    if (failure !== undefined) this.#signal.throwIfAborted();
    return failure;
  }

  /** Of a pod that is to run, a sandbox that is stopped by itself is a leftover. */
  async stopSandbox({ sandboxId }: StopSandboxStep): Promise<StepOutcome> {
    const code = "KillPodSandboxError";
    const outcome = await this.#endLeftover(sandboxId, code, (signal) =>
      unlessGone(code, this.#deps.remove.runtime.stopPodSandbox(sandboxId, signal), signal),
    );
    if (outcome.failure !== undefined) this.#inTheWay.set(sandboxId, outcome);
    return outcome;
  }

  /** One that could not be stopped stays: its network would be left behind. */
  async removeSandbox({ sandboxId }: RemoveSandboxStep): Promise<StepOutcome> {
    const inTheWay = this.#inTheWay.get(sandboxId);
    if (inTheWay !== undefined) return inTheWay;
    const removed = this.#deps.remove.runtime.removePodSandbox(sandboxId, this.#signal);
    return unlessGone("RemovePodSandboxError", removed, this.#signal);
  }

  /** A pod that is to run does not wait for what hangs, one that is to end has nothing else to do. */
  #endLeftover(
    id: string,
    code: string,
    end: (signal: AbortSignal) => Promise<StepOutcome>,
  ): Promise<StepOutcome> {
    const { starting } = this.#request;
    if (starting === undefined) return end(this.#signal);
    const { lifetime } = this.#deps.remove;
    return starting.deps.leftovers.attempt({ id, code }, () => end(lifetime), this.#signal);
  }

  async createSandbox({ attempt }: CreateSandboxStep): Promise<StepOutcome> {
    const { pod } = this.#request;
    const { deps, onSandboxReady } = this.#starting;
    const created = await createSandbox(deps.start, pod, attempt, this.#signal);
    if (!created.ok) return { failure: created.error };
    this.#sandboxId = created.value.sandboxId;
    this.#sandboxConfig = created.value.config;
    const ips = await readSandboxIps(deps.start, pod, this.#sandboxId, this.#signal);
    if (!ips.ok) return { failure: { code: syncFailed, message: ips.error } };
    // A pod in the node's network keeps the node's addresses.
    if (pod.spec.hostNetwork !== true) this.#podIps = ips.value;
    onSandboxReady();
    return { note: created.value.note };
  }

  async resize(step: ResizeStep): Promise<StepOutcome> {
    const { pod } = this.#request;
    return resizePod(this.#starting.deps.resize, { pod, sandboxId: this.#sandboxId, step });
  }

  async wait({ name, untilMs, message }: WaitStep): Promise<StepOutcome> {
    if (untilMs === undefined) return { note: message };
    const { pod } = this.#request;
    const kind = findContainer(pod, name)?.kind ?? "regular";
    this.#deps.kill.events.record(pod, {
      type: "Warning",
      reason: "BackOff",
      message: `Back-off restarting failed container ${name} in pod ${podDisplayName(pod)}`,
      container: { kind, name },
    });
    return { failure: { code: "CrashLoopBackOff", message, retryAtMs: untilMs } };
  }

  async start(step: StartContainerStep): Promise<StepOutcome> {
    const { pod, observed } = this.#request;
    const { deps, pullCredentials } = this.#starting;
    const config = await this.#sandboxConfigOnce();
    if (!config.ok) return { failure: { code: syncFailed, message: config.error } };
    const placed = findContainer(pod, step.name);
    if (placed === undefined) {
      const message = `no container ${step.name} in the spec`;
      return { failure: { code: "CreateContainerConfigError", message } };
    }
    if (step.nextDelayMs !== undefined) {
      deps.restarts.noteStart(pod, placed.container, step.nextDelayMs);
    }
    const inTheWay = this.#inTheWay.get(step.name);
    if (inTheWay !== undefined) return inTheWay;
    return startContainer(
      deps.start,
      {
        pod,
        observed,
        placed,
        sandboxId: this.#sandboxId,
        sandboxConfig: config.value,
        podIps: this.#podIps,
        pullCredentials,
      },
      this.#signal,
    );
  }

  get #starting(): StartingPod {
    const { starting } = this.#request;
    assert(starting !== undefined, "a plan that only ends a pod starts or changes something");
    return starting;
  }

  /** The config of the sandbox that containers start in: the runtime wants it with each of them. */
  async #sandboxConfigOnce(): Promise<Result<PodSandboxConfig, string>> {
    if (this.#sandboxConfig !== undefined) return ok(this.#sandboxConfig);
    const { pod } = this.#request;
    const config = await this.#starting.deps.start.configs.sandboxConfig(
      pod,
      this.#plan.sandboxAttempt,
    );
    if (!config.ok) {
      const name = podDisplayName(pod);
      return err(`GeneratePodSandboxConfig for pod "${name}" failed: ${config.error}`);
    }
    this.#sandboxConfig = config.value;
    return config;
  }
}

async function unlessGone(
  code: string,
  call: Promise<void>,
  signal: AbortSignal,
): Promise<StepOutcome> {
  try {
    await call;
    return {};
  } catch (error) {
    signal.throwIfAborted();
    return isNotFound(error) ? {} : { failure: { code, message: runtimeErrorText(error) } };
  }
}
