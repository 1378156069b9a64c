import { initContainersToRemove } from "../../core/pod/prune-init-containers.ts";
import type {
  KillContainerStep,
  PodPlan,
  ResetContainerStep,
  StartContainerStep,
  Step,
} from "../../core/pod/step.ts";
import { errorText } from "../../lib/error-text.ts";
import type { AuthConfig, PodSandboxConfig } from "../../model/generated/cri.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { findContainer, isSidecar, type Pod, podDisplayName } from "../../model/pod.ts";
import type { CrashLoop } from "../crash-loop.ts";
import { rawContainerId } from "./container-id.ts";
import { createSandbox } from "./create-sandbox.ts";
import { killContainer } from "./kill-container.ts";
import { killPod } from "./kill-pod.ts";
import { removeContainer } from "./remove-container.ts";
import { type StartDeps, startContainer } from "./start-container.ts";
import type { StepFailure, StepReport } from "./step-report.ts";

export interface ExecutorDeps extends StartDeps {
  readonly crashLoop: CrashLoop;
}

export interface ExecuteRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly plan: PodPlan;
  readonly pullCredentials: readonly AuthConfig[];
  /** Called once a new sandbox has its network. */
  readonly onSandboxReady: () => void;
}

/** Carries a plan out in its order; stops where a step that later ones stand on has failed. */
export async function executePlan(
  deps: ExecutorDeps,
  request: ExecuteRequest,
  signal: AbortSignal,
): Promise<readonly StepReport[]> {
  const { steps } = request.plan;
  const run = new PlanRun(deps, request, signal);
  const firstAfterStops = steps.findIndex(({ kind }) => !stopping.has(kind));
  const stops = firstAfterStops < 0 ? steps : steps.slice(0, firstAfterStops);
  if (!(await run.carryOutAll(stops))) return run.reports;
  await run.pruneInitContainers();
  await run.carryOutAll(steps.slice(stops.length));
  return run.reports;
}

const stopping: ReadonlySet<Step["kind"]> = new Set([
  "kill-pod",
  "kill-container",
  "reset-container",
]);

/** One plan being carried out: what its steps hand on is the sandbox, its config and its addresses. */
class PlanRun {
  readonly reports: StepReport[] = [];
  readonly #deps: ExecutorDeps;
  readonly #request: ExecuteRequest;
  readonly #signal: AbortSignal;
  #sandboxId: string;
  #sandboxConfig: PodSandboxConfig | undefined;
  #podIps: readonly string[];

  constructor(deps: ExecutorDeps, request: ExecuteRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#sandboxId = request.plan.sandboxId ?? "";
    this.#podIps = request.observed.ips;
  }

  /** False when a step failed that the ones after it stand on. */
  async carryOutAll(steps: readonly Step[]): Promise<boolean> {
    for (const step of steps) {
      this.#signal.throwIfAborted();
      if (!(await this.#carryOut(step))) return false;
    }
    return true;
  }

  async pruneInitContainers(): Promise<void> {
    const { pod, observed, plan } = this.#request;
    const startsOver = plan.steps.some((step) => step.kind === "kill-pod" && step.startsOver);
    for (const { id, name } of initContainersToRemove(pod, observed, startsOver)) {
      try {
        await removeContainer(
          this.#deps,
          rawContainerId(id),
          { keepLogs: false },
          this.#deps.lifetime,
        );
      } catch (error) {
        this.#deps.log.warn("cannot remove an ended init container", {
          pod: podDisplayName(pod),
          container: name,
          error: errorText(error),
        });
      }
    }
  }

  async #carryOut(step: Step): Promise<boolean> {
    switch (step.kind) {
      case "kill-pod":
        return this.#killPod(step.because);
      case "kill-container":
        return this.#reported("KillContainer", step.name, step.because, () => this.#kill(step));
      case "reset-container":
        return this.#reported("RemoveContainer", step.name, step.because, () => this.#reset(step));
      case "create-sandbox":
        return this.#reported(
          "CreatePodSandbox",
          podDisplayName(this.#request.pod),
          step.because,
          () => this.#createSandbox(step.attempt),
        );
      case "start-ephemeral":
      case "start-init":
      case "start-container": {
        const started = await this.#reported("StartContainer", step.name, step.because, () =>
          this.#start(step),
        );
        return started || mayGoOnWithout(this.#request.pod, step);
      }
      case "resize":
        return true;
    }
  }

  async #reported(
    action: StepReport["action"],
    target: string,
    because: string,
    work: () => Promise<StepFailure | undefined>,
  ): Promise<boolean> {
    const startedMs = this.#deps.clock.monotonicMs();
    const failure = await work();
    const durationMs = this.#deps.clock.monotonicMs() - startedMs;
    this.reports.push({ action, target, because, failure, durationMs });
    return failure === undefined;
  }

  async #killPod(because: string): Promise<boolean> {
    const { pod, observed, plan } = this.#request;
    const recreates = plan.steps.some(({ kind }) => kind === "create-sandbox");
    if (recreates && plan.sandboxId !== undefined) {
      this.#deps.events.record(pod, {
        type: "Normal",
        reason: "SandboxChanged",
        message: "Pod sandbox changed, it will be killed and re-created.",
      });
    }
    const reports = await killPod(this.#deps, { pod, observed, because }, this.#signal);
    this.reports.push(...reports);
    return reports.every(({ failure }) => failure === undefined);
  }

  async #kill(step: KillContainerStep): Promise<StepFailure | undefined> {
    return this.#stopContainer(step.containerId, step.name, {
      message: step.message,
      reason: step.reason,
    });
  }

  async #reset(step: ResetContainerStep): Promise<StepFailure | undefined> {
    if (step.kill) {
      const failure = await this.#stopContainer(step.containerId, step.name, {
        message: "killing",
        reason: "RestartAllContainers",
        graceOverrideSeconds: 0,
      });
      if (failure !== undefined) return failure;
    }
    try {
      const id = rawContainerId(step.containerId);
      await removeContainer(this.#deps, id, { keepLogs: true }, this.#deps.lifetime);
      return undefined;
    } catch (error) {
      return { code: "RemoveContainerError", message: errorText(error) };
    }
  }

  async #stopContainer(
    containerId: string,
    name: string,
    how: Pick<Parameters<typeof killContainer>[1], "message" | "reason" | "graceOverrideSeconds">,
  ): Promise<StepFailure | undefined> {
    const { pod } = this.#request;
    const placed = findContainer(pod, name);
    try {
      await killContainer(
        this.#deps,
        {
          pod,
          container: placed?.container ?? { name },
          kind: placed?.kind ?? "regular",
          containerId: rawContainerId(containerId),
          podIp: this.#podIps[0] ?? "",
          ...how,
        },
        this.#signal,
      );
      return undefined;
    } catch (error) {
      this.#signal.throwIfAborted();
      return { code: "KillContainerError", message: errorText(error) };
    }
  }

  async #createSandbox(attempt: number): Promise<StepFailure | undefined> {
    const { pod, onSandboxReady } = this.#request;
    const created = await createSandbox(this.#deps, pod, attempt);
    if (!created.ok) return created.error;
    this.#sandboxId = created.value.sandboxId;
    this.#sandboxConfig = created.value.config;
    if (pod.spec.hostNetwork !== true) this.#podIps = created.value.ips;
    onSandboxReady();
    return undefined;
  }

  async #start(step: StartContainerStep): Promise<StepFailure | undefined> {
    const { pod, observed, pullCredentials } = this.#request;
    const placed = findContainer(pod, step.name);
    if (placed === undefined) {
      return {
        code: "CreateContainerConfigError",
        message: `no container ${step.name} in the spec`,
      };
    }
    const waiting = this.#deps.crashLoop.check(pod, placed, observed);
    if (waiting !== undefined) return waiting;
    const config = await this.#sandboxConfigOnce();
    if (typeof config === "string") return { code: "CreateContainerConfigError", message: config };
    const handler = this.#deps.configs.runtimeHandler(pod);
    if (!handler.ok) return { code: "CreateContainerConfigError", message: handler.error };
    return startContainer(
      this.#deps,
      {
        pod,
        observed,
        placed,
        sandboxId: this.#sandboxId,
        sandboxConfig: config,
        runtimeHandler: handler.value,
        podIps: this.#podIps,
        pullCredentials,
      },
      this.#signal,
    );
  }

  async #sandboxConfigOnce(): Promise<PodSandboxConfig | string> {
    if (this.#sandboxConfig === undefined) {
      const { pod, plan } = this.#request;
      const config = await this.#deps.configs.sandboxConfig(pod, plan.sandboxAttempt);
      if (!config.ok) return config.error;
      this.#sandboxConfig = config.value;
    }
    return this.#sandboxConfig;
  }
}

// A sidecar, an ephemeral or a regular container that cannot start keeps no other one from starting.
function mayGoOnWithout(pod: Pod, step: StartContainerStep): boolean {
  if (step.kind !== "start-init") return true;
  const placed = findContainer(pod, step.name);
  return placed !== undefined && isSidecar(placed.container);
}
