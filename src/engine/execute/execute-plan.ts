import { initContainersToRemove } from "../../core/pod/prune-init-containers.ts";
import type {
  KillContainerStep,
  PodPlan,
  ResetContainerStep,
  StartContainerStep,
  Step,
} from "../../core/pod/step.ts";
import { errorText } from "../../lib/error-text.ts";
import type { PodSandboxConfig } from "../../model/generated/cri.ts";
import type { ObservedPod } from "../../model/observed.ts";
import { findContainer, isSidecar, type Pod, podDisplayName } from "../../model/pod.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { Progress } from "../../ports/watchdog.ts";
import type { PodCredentials } from "../images/pull-credentials.ts";
import { rawContainerId } from "./container-id.ts";
import type { CrashLoop } from "./crash-loop.ts";
import { createSandbox, readSandboxIps } from "./create-sandbox.ts";
import { type KillContainerRequest, killContainer } from "./kill-container.ts";
import { killPod } from "./kill-pod.ts";
import { removeContainer } from "./remove-container.ts";
import { type ResizeDeps, resizePod } from "./resize-pod.ts";
import { startContainer } from "./start-container.ts";
import type { StartDeps } from "./start-deps.ts";
import type { StepFailure, StepOutcome, StepReport } from "./step-report.ts";

export interface ExecutorDeps extends StartDeps, ResizeDeps {
  readonly crashLoop: CrashLoop;
  readonly progress?: Progress | undefined;
}

export interface ExecuteRequest {
  readonly pod: Pod;
  readonly observed: ObservedPod;
  readonly plan: PodPlan;
  readonly pullCredentials: PodCredentials;
  /** Called once a new sandbox has its network. */
  readonly onSandboxReady: () => void;
}

/**
 * Carries a plan out in its order; stops where a step that later ones stand on has failed. When `signal` aborts
 * it rejects before the next step; only waiting, pulling, hooks and stops are cut short.
 */
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
    const { lifetime, log } = this.#deps;
    for (const { id, name } of initContainersToRemove(pod, observed, startsOver)) {
      this.#signal.throwIfAborted();
      try {
        await removeContainer(this.#deps, rawContainerId(id), { keepLogs: false }, lifetime);
      } catch (error) {
        log.warn("cannot remove an ended init container", {
          pod: podDisplayName(pod),
          container: name,
          error: errorText(error),
        });
      }
    }
  }

  async #carryOut(step: Step): Promise<boolean> {
    const { pod } = this.#request;
    switch (step.kind) {
      case "kill-pod":
        return this.#killPod(step.because);
      case "kill-container":
        return this.#reported("KillContainer", step.name, step.because, () => this.#kill(step));
      case "reset-container":
        return this.#reported("RemoveContainer", step.name, step.because, () => this.#reset(step));
      case "create-sandbox":
        return (
          (await this.#reported("CreatePodSandbox", podDisplayName(pod), step.because, () =>
            this.#createSandbox(step.attempt),
          )) && (await this.#readSandbox(step.because))
        );
      case "start-ephemeral":
      case "start-init":
      case "start-container": {
        const sandboxConfig = await this.#sandboxConfigOnce(step.because);
        if (sandboxConfig === undefined) return false;
        const started = await this.#reported("StartContainer", step.name, step.because, () =>
          this.#start(step, sandboxConfig),
        );
        return started || mayGoOnWithout(pod, step);
      }
      case "resize":
        await this.#reported("ResizePodInPlace", podDisplayName(pod), step.because, () =>
          resizePod(this.#deps, { pod, sandboxId: this.#sandboxId, step }),
        );
        // What starts has its resources; what runs keeps those it had until the next try.
        return true;
    }
  }

  async #reported(
    action: StepReport["action"],
    target: string,
    because: string,
    work: () => StepOutcome | Promise<StepOutcome>,
  ): Promise<boolean> {
    this.#deps.progress?.noteStep(this.#request.pod.metadata.uid, `${action} ${target}`);
    const startedMs = this.#deps.clock.monotonicMs();
    const outcome = await work();
    const durationMs = this.#deps.clock.monotonicMs() - startedMs;
    this.reports.push({ action, target, because, ...outcome, durationMs });
    return outcome.failure === undefined;
  }

  #failSync(because: string, message: string): void {
    const target = podDisplayName(this.#request.pod);
    const failure = { code: "SyncPodError", message };
    this.reports.push({ action: "SyncPod", target, because, failure, durationMs: 0 });
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

  async #kill({ containerId, name, message, reason }: KillContainerStep): Promise<StepOutcome> {
    return { failure: await this.#stopContainer(containerId, name, { message, reason }) };
  }

  async #reset(step: ResetContainerStep): Promise<StepOutcome> {
    if (step.kill) {
      const failure = await this.#stopContainer(step.containerId, step.name, {
        message: "killing",
        reason: "RestartAllContainers",
        graceOverrideSeconds: 0,
      });
      if (failure !== undefined) return { failure };
    }
    try {
      const id = rawContainerId(step.containerId);
      await removeContainer(this.#deps, id, { keepLogs: true }, this.#deps.lifetime);
      return {};
    } catch (error) {
      return { failure: { code: "RemoveContainerError", message: runtimeErrorText(error) } };
    }
  }

  async #stopContainer(
    containerId: string,
    name: string,
    how: Pick<KillContainerRequest, "message" | "reason" | "graceOverrideSeconds">,
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
      return { code: "KillContainerError", message: runtimeErrorText(error) };
    }
  }

  async #createSandbox(attempt: number): Promise<StepOutcome> {
    const created = await createSandbox(this.#deps, this.#request.pod, attempt, this.#signal);
    if (!created.ok) return { failure: created.error };
    this.#sandboxId = created.value.sandboxId;
    this.#sandboxConfig = created.value.config;
    return { note: created.value.note };
  }

  async #readSandbox(because: string): Promise<boolean> {
    const { pod, onSandboxReady } = this.#request;
    const ips = await readSandboxIps(this.#deps, pod, this.#sandboxId, this.#signal);
    if (!ips.ok) {
      this.#failSync(because, ips.error);
      return false;
    }
    // A pod in the node's network keeps the node's addresses.
    if (pod.spec.hostNetwork !== true) this.#podIps = ips.value;
    onSandboxReady();
    return true;
  }

  /** The config of the sandbox that containers start in: the runtime wants it with each of them. */
  async #sandboxConfigOnce(because: string): Promise<PodSandboxConfig | undefined> {
    if (this.#sandboxConfig !== undefined) return this.#sandboxConfig;
    const { pod, plan } = this.#request;
    const config = await this.#deps.configs.sandboxConfig(pod, plan.sandboxAttempt);
    if (!config.ok) {
      const name = podDisplayName(pod);
      this.#failSync(because, `GeneratePodSandboxConfig for pod "${name}" failed: ${config.error}`);
      return undefined;
    }
    this.#sandboxConfig = config.value;
    return config.value;
  }

  async #start(step: StartContainerStep, sandboxConfig: PodSandboxConfig): Promise<StepOutcome> {
    const { pod, observed, pullCredentials } = this.#request;
    const placed = findContainer(pod, step.name);
    if (placed === undefined) {
      const message = `no container ${step.name} in the spec`;
      return { failure: { code: "CreateContainerConfigError", message } };
    }
    const waiting = this.#deps.crashLoop.check(pod, placed, observed);
    if (waiting !== undefined) return { failure: waiting };
    return startContainer(
      this.#deps,
      {
        pod,
        observed,
        placed,
        sandboxId: this.#sandboxId,
        sandboxConfig,
        podIps: this.#podIps,
        pullCredentials,
      },
      this.#signal,
    );
  }
}

// A sidecar, an ephemeral or a regular container that cannot start keeps no other one from starting.
function mayGoOnWithout(pod: Pod, step: StartContainerStep): boolean {
  if (step.kind !== "start-init") return true;
  const placed = findContainer(pod, step.name);
  return placed !== undefined && isSidecar(placed.container);
}
