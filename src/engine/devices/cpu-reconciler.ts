import { errorText } from "../../lib/error-text.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import { cpuSetText } from "../../model/cpu-set.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { ActivePods } from "../pods/active-pods.ts";
import type { ManagerSettings } from "./manager-settings.ts";
import type { NodeManagers } from "./node-managers.ts";

export interface CpuReconcilerDeps {
  readonly settings: { readonly node: { readonly managers: ManagerSettings } };
  readonly managers: Pick<NodeManagers, "cpus" | "releaseStale">;
  readonly active: Pick<ActivePods, "list">;
  readonly runtime: Pick<ContainerRuntime, "updateContainerResources">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps running containers on the CPUs that are theirs: those without CPUs of their own share what is left, which changes. */
export class CpuReconciler {
  readonly #deps: CpuReconcilerDeps;
  readonly #wakeUp: WakeUp;

  constructor(deps: CpuReconcilerDeps) {
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
  }

  /** The CPUs that are shared changed. */
  requestLook(): void {
    this.#wakeUp.notify();
  }

  /** Until `signal` aborts; at once where no container gets CPUs of its own. */
  async run(signal: AbortSignal): Promise<void> {
    const { cpu, cpuReconcileMs } = this.#deps.settings.node.managers;
    if (cpu.exclusive === undefined) return;
    while ((await this.#wakeUp.wait(cpuReconcileMs, signal)) !== "aborted") {
      await this.#reconcile(signal);
    }
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { managers, active, runtime, log } = this.#deps;
    const { cpus: manager } = managers;
    if (manager === undefined) return;
    await managers.releaseStale();
    const pods = active.list();
    const statuses = new Map<string, PodStatus>(
      pods.flatMap(({ metadata, status }) =>
        status === undefined ? [] : [[metadata.uid, status]],
      ),
    );
    for (const { ref, containerId, outcome } of manager.planUpdates(pods, statuses)) {
      if (outcome.kind !== "update") continue;
      try {
        const linux = { cpusetCpus: cpuSetText(outcome.cpus) };
        await runtime.updateContainerResources({ containerId, linux }, signal);
        manager.noteApplied(ref, outcome.cpus);
      } catch (error) {
        signal.throwIfAborted();
        const fields = { ...ref, containerId, error: errorText(error) };
        log.warn("cannot change the CPUs of a container, trying again", fields);
      }
    }
  }
}
