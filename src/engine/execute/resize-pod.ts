import { effectiveResources, withPodResource } from "../../core/allocation/actuated-resources.ts";
import type { ResizeResources, ResizeStep, ResizeUpdate } from "../../core/pod/step.ts";
import { errorText } from "../../lib/error-text.ts";
import { joinedErrors } from "../../lib/joined-errors.ts";
import type { CgroupResources } from "../../model/cgroup.ts";
import { rawContainerId } from "../../model/ids.ts";
import { type AnyContainer, findContainer, type Pod, podDisplayName } from "../../model/pod.ts";
import { formatQuantity, milliQuantity, wholeQuantity } from "../../model/quantity.ts";
import { RuntimeError, runtimeErrorText } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { ResourceRecords } from "../resources/allocation/resource-records.ts";
import type { NodePodCgroups } from "../resources/pod-cgroups.ts";
import type { PodConfigs } from "./node-pod-configs.ts";
import type { StepOutcome } from "./step-report.ts";

/** The cgroup of a pod, as a resize reads and changes it. */
export type PodCgroupControl = Pick<
  NodePodCgroups,
  "wanted" | "read" | "update" | "memoryUsageBytes"
>;

/** What was applied to pods, kept over restarts. */
export type ActuatedRecord = Pick<ResourceRecords, "get" | "setContainer" | "setPod" | "flush">;

export interface ResizeDeps {
  readonly runtime: ContainerRuntime;
  readonly configs: PodConfigs;
  readonly cgroups: PodCgroupControl;
  readonly actuated: ActuatedRecord;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** A resize that began goes on though the pod's sync is cut short: it never stops halfway for that. */
  readonly lifetime: AbortSignal;
}

interface ResizeRequest {
  readonly pod: Pod;
  readonly sandboxId: string;
  readonly step: ResizeStep;
}

/** Gives a running pod its resources: its cgroup and its containers, in an order that never oversteps. */
export async function resizePod(deps: ResizeDeps, request: ResizeRequest): Promise<StepOutcome> {
  const startedMs = deps.clock.monotonicMs();
  const message = await resize(deps, request);
  const durationMs = deps.clock.monotonicMs() - startedMs;
  const success = String(message === undefined);
  deps.metrics.observe("kubelet_pod_resize_duration_milliseconds", durationMs, { success });
  if (message === undefined) return {};
  return { failure: { code: "ResizePodInPlaceError", message } };
}

/** Answers what went wrong. */
async function resize(deps: ResizeDeps, request: ResizeRequest): Promise<string | undefined> {
  const { pod, step } = request;
  const { updates, updatePodResources, updatePodLevelResources } = step;
  const wanted = deps.cgroups.wanted(pod);
  let current: CgroupResources;
  try {
    current = deps.cgroups.read(pod);
  } catch (error) {
    deps.log.warn("cannot read a pod's cgroup", { error: errorText(error) });
    return `unable to get pod cgroup memory config for pod "${podDisplayName(pod)}"`;
  }
  if (updates.memory.length > 0 || updatePodResources) {
    const problem = await memoryShrinkProblem(deps, { ...request, wanted, current });
    if (problem !== undefined) return problem;
  }
  const run = new ResizeRun(deps, request, wanted, current);
  const isPodChanged = updatePodResources || updatePodLevelResources;
  try {
    if (updates.memory.length > 0 || isPodChanged) await run.resizeMemory();
    if (updates.cpu.length > 0 || isPodChanged) await run.resizeCpu();
    return undefined;
  } catch (error) {
    deps.lifetime.throwIfAborted();
    return runtimeErrorText(error);
  } finally {
    await deps.actuated.flush();
  }
}

interface Change {
  readonly before: bigint;
  readonly after: bigint;
}

const unchanged: Change = { before: 0n, after: 0n };

/** One resize being carried out; `current` follows what was applied. */
class ResizeRun {
  readonly #deps: ResizeDeps;
  readonly #request: ResizeRequest;
  readonly #wanted: CgroupResources;
  readonly #found: CgroupResources;
  #current: CgroupResources;

  constructor(
    deps: ResizeDeps,
    request: ResizeRequest,
    wanted: CgroupResources,
    found: CgroupResources,
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#wanted = wanted;
    this.#found = found;
    this.#current = { ...wanted, ...found };
  }

  async resizeMemory(): Promise<void> {
    const before = this.#found.memoryBytes ?? 0n;
    // A limit that is no longer asked for stays: that of a running pod cannot be lifted.
    const limit = { before, after: this.#wanted.memoryBytes ?? before };
    await this.#resize("memory", limit, unchanged);
  }

  async resizeCpu(): Promise<void> {
    const { cpuQuotaUs = 0, cpuShares = 0 } = this.#found;
    const limit = {
      before: BigInt(cpuQuotaUs),
      after: BigInt(this.#wanted.cpuQuotaUs ?? cpuQuotaUs),
    };
    const request = {
      before: BigInt(cpuShares),
      after: BigInt(this.#wanted.cpuShares ?? cpuShares),
    };
    await this.#resize("cpu", limit, request);
  }

  /** The pod grows before its containers and shrinks after them, and a request never exceeds its limit. */
  async #resize(resource: "cpu" | "memory", limit: Change, request: Change): Promise<void> {
    if (limit.after > limit.before) await this.#setPodCgroup(resource, "limit");
    if (request.after > request.before) await this.#setPodCgroup(resource, "request");
    for (const update of this.#request.step.updates[resource]) {
      await this.#updateContainer(resource, update);
    }
    if (request.after < request.before) await this.#setPodCgroup(resource, "request");
    if (limit.after < limit.before) await this.#setPodCgroup(resource, "limit");
    if (this.#request.step.updatePodLevelResources) this.#notePodLevel(resource);
  }

  async #setPodCgroup(resource: "cpu" | "memory", kind: "limit" | "request"): Promise<void> {
    const { cgroups, log } = this.#deps;
    const { pod } = this.#request;
    const change = cgroupChange(this.#wanted, resource, kind);
    const merged = { ...this.#current, ...change };
    // The runtime may refuse; then nothing is changed yet.
    try {
      await this.#notifyRuntime(merged);
    } catch (error) {
      throw new Error(
        `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected: ${errorText(error)}`,
        { cause: error },
      );
    }
    try {
      await cgroups.update(pod, change);
    } catch (error) {
      await this.#notifyRuntime(this.#current).catch((rollbackError: unknown) =>
        log.warn("cannot notify the runtime that a pod keeps its resources", {
          pod: podDisplayName(pod),
          error: errorText(rollbackError),
        }),
      );
      throw error;
    }
    this.#current = merged;
  }

  async #notifyRuntime(cgroup: CgroupResources): Promise<void> {
    const { runtime, configs, lifetime } = this.#deps;
    const { pod, sandboxId } = this.#request;
    const request = { podSandboxId: sandboxId, ...configs.sandboxResources(pod, cgroup) };
    try {
      await runtime.updatePodSandboxResources(request, lifetime);
    } catch (error) {
      // Most runtimes need not know: the cgroup is the agent's.
      if (isUnimplemented(error)) return;
      const text = runtimeErrorText(error);
      throw new Error(`updatePodSandboxResources failed for sanboxID "${sandboxId}": ${text}`, {
        cause: error,
      });
    }
  }

  async #updateContainer(resource: "cpu" | "memory", update: ResizeUpdate): Promise<void> {
    const { runtime, configs, actuated, lifetime } = this.#deps;
    const { pod } = this.#request;
    const container = findContainer(pod, update.name)?.container;
    if (container === undefined) return;
    const resized = resizedContainer(container, resource, update);
    const linux = configs.containerResources(pod, resized);
    await runtime.updateContainerResources(
      { containerId: rawContainerId(update.containerId), linux },
      lifetime,
    );
    actuated.setContainer(pod.metadata.uid, update.name, effectiveResources(pod, resized));
    await actuated.flush();
  }

  #notePodLevel(resource: "cpu" | "memory"): void {
    const { uid } = this.#request.pod.metadata;
    const { resources } = this.#request.pod.spec;
    if (resources === undefined) return;
    const { actuated } = this.#deps;
    actuated.setPod(uid, withPodResource(actuated.get(uid)?.pod, resources, resource));
  }
}

function cgroupChange(
  { memoryBytes, cpuPeriodUs, cpuQuotaUs, cpuShares }: CgroupResources,
  resource: "cpu" | "memory",
  kind: "limit" | "request",
): CgroupResources {
  if (resource === "memory") return { memoryBytes };
  return kind === "limit" ? { cpuPeriodUs, cpuQuotaUs } : { cpuShares };
}

/** Memory goes first: while it changes, the CPU stays what it was. */
function resizedContainer(
  container: AnyContainer,
  resource: "cpu" | "memory",
  { current, desired }: ResizeUpdate,
): AnyContainer {
  const cpu = resource === "cpu" ? desired : current;
  return {
    ...container,
    resources: {
      limits: {
        ...container.resources?.limits,
        cpu: cpuText(cpu, "cpuLimit"),
        memory: memoryText(desired, "memoryLimit"),
      },
      requests: {
        ...container.resources?.requests,
        cpu: cpuText(cpu, "cpuRequest"),
        memory: memoryText(desired, "memoryRequest"),
      },
    },
  };
}

function cpuText(resources: ResizeResources, field: "cpuLimit" | "cpuRequest"): string {
  return formatQuantity(milliQuantity(BigInt(resources[field]), "DecimalSI"));
}

function memoryText(resources: ResizeResources, field: "memoryLimit" | "memoryRequest"): string {
  return formatQuantity(wholeQuantity(BigInt(resources[field]), "BinarySI"));
}

// containerd 2.2 says so in words only.
function isUnimplemented(error: unknown): boolean {
  if (!(error instanceof RuntimeError)) return false;
  const saysSo = error.code === "Unknown" && error.message.includes("not implemented");
  return error.code === "Unimplemented" || saysSo;
}

interface ShrinkRequest extends ResizeRequest {
  readonly wanted: CgroupResources;
  readonly current: CgroupResources;
}

/** Why memory limits cannot be lowered now: more is in use than they would allow. */
async function memoryShrinkProblem(
  deps: ResizeDeps,
  request: ShrinkRequest,
): Promise<string | undefined> {
  const { pod, wanted, current } = request;
  const podBytes = wanted.memoryBytes;
  const podShrinks =
    podBytes !== undefined && (current.memoryBytes === undefined || podBytes < current.memoryBytes);
  const shrinking = request.step.updates.memory.filter(
    (update) =>
      update.desired.memoryLimit !== 0 &&
      (update.current.memoryLimit === 0 || update.desired.memoryLimit < update.current.memoryLimit),
  );
  if (!podShrinks && shrinking.length === 0) return undefined;
  const problems: string[] = [];
  try {
    const usedBytes = deps.cgroups.memoryUsageBytes(pod);
    if (podShrinks && usedBytes >= podBytes) {
      problems.push(
        `attempting to set pod memory limit (${podBytes}) below current usage (${usedBytes})`,
      );
    }
    const usages = await containerUsages(deps, request);
    for (const { name, containerId, desired } of shrinking) {
      const id = rawContainerId(containerId);
      const used = usages.get(id);
      if (used === undefined) {
        if (usages.has(id)) problems.push(`missing container "${name}" memory usage`);
      } else if (used >= BigInt(desired.memoryLimit)) {
        problems.push(
          `attempting to set container "${name}" memory limit (${desired.memoryLimit}) below current usage (${used})`,
        );
      }
    }
  } catch (error) {
    deps.lifetime.throwIfAborted();
    deps.log.warn("cannot read memory usage", { error: errorText(error) });
    return `unable to read memory usage for pod "${podDisplayName(pod)}"`;
  }
  if (problems.length === 0) return undefined;
  return `cannot decrease memory limits: ${joinedErrors(problems)}`;
}

/** By the runtime's id; undefined where the runtime has statistics of a container, but not of its memory. */
async function containerUsages(
  { runtime, lifetime }: ResizeDeps,
  { sandboxId }: ShrinkRequest,
): Promise<ReadonlyMap<string, bigint | undefined>> {
  const stats = await runtime.listContainerStats({ podSandboxId: sandboxId }, lifetime);
  return new Map(
    stats.map(({ attributes, memory }) => [
      attributes?.id ?? "",
      memory?.usageBytes?.value ?? memory?.workingSetBytes?.value,
    ]),
  );
}
