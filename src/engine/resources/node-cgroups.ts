import type { RuntimeSettings } from "../../core/cri/runtime-settings.ts";
import {
  type NodeReservationSettings,
  podsRootResources,
  type ReservedCgroup,
} from "../../core/resource/node-cgroups.ts";
import { amountOf, resourceList } from "../../core/resource/resource-list.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import { quantityValue } from "../../model/quantity.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { NodePodCgroups, PodCgroupSettings } from "./pod-cgroups.ts";

/** What the node's cgroups allow. */
export interface NodeCgroupSettings {
  /** Whether pods have cgroups by their class, and one each. */
  readonly perQos: boolean;
  /** Undefined = a pod may have any number of processes. */
  readonly podPidsLimit: number | undefined;
  readonly reservations: NodeReservationSettings;
  /** How much of the memory that better classes ask for the lower ones may not take. */
  readonly qosMemoryPercent?: number | undefined;
  /** How many processes the machine can have. */
  readonly maxPids?: number | undefined;
}

/** What the cgroups of pods allow on that node. */
export function podCgroupSettings(
  cgroups: Pick<PodCgroupSettings, "driver" | "root"> & { readonly node: NodeCgroupSettings },
  runtime: Pick<RuntimeSettings, "cpuCfsQuota" | "cpuCfsPeriodUs" | "cgroupVersion" | "memoryQos">,
  { status = {} }: Node,
): PodCgroupSettings {
  const { cpuCfsQuota, cpuCfsPeriodUs, cgroupVersion, memoryQos } = runtime;
  const { reservations, maxPids, qosMemoryPercent: percent } = cgroups.node;
  const memory = amountOf(resourceList(status.allocatable), "memory");
  return {
    ...cgroups,
    ...cgroups.node,
    cpuQuota: { enforceCpuLimits: cpuCfsQuota, cpuPeriodUs: cpuCfsPeriodUs },
    rootResources: podsRootResources(status.capacity ?? {}, maxPids, reservations),
    memoryReserve:
      percent === undefined ? undefined : { percent, allocatableBytes: quantityValue(memory) },
    memoryQos: cgroupVersion === 2 ? memoryQos : undefined,
  };
}

export interface NodeCgroupsDeps {
  /** Those of pods. */
  readonly cgroups: Pick<NodePodCgroups, "ensureShared" | "enforceRoot" | "rootPath">;
  readonly reserved: readonly ReservedCgroup[];
  /** Cgroups with another root: one that the node's owner made and named. */
  readonly cgroupsAt: (path: string) => Pick<Cgroups, "exists" | "update">;
  readonly nodeEvents: NodeEvents;
  readonly hostCgroups: Pick<Cgroups, "version">;
  readonly metrics: Pick<Metrics, "set">;
  readonly clock: Clock;
  readonly log: Log;
}

const enforced = "NodeAllocatableEnforced";
const notEnforced = "FailedNodeAllocatableEnforcement";
const intervalMs = 60_000;

/** The cgroups above those of pods, and those of the system: what they allow, for as long as the agent runs. */
export class NodeCgroups {
  readonly #deps: NodeCgroupsDeps;

  constructor(deps: NodeCgroupsDeps) {
    this.#deps = deps;
  }

  /** Holds the system's own cgroups to what is reserved; rejects when one cannot be. */
  async start(): Promise<void> {
    const { cgroups, reserved, hostCgroups, metrics } = this.#deps;
    metrics.set("kubelet_cgroup_version", hostCgroups.version);
    await cgroups.ensureShared();
    for (const one of reserved) await this.#enforceReserved(one);
  }

  /** Keeps the classes' shares in line with the pods that run, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { cgroups, clock, log } = this.#deps;
    let isEnforced = false;
    while (!signal.aborted) {
      // Pods may take more than they should while the limit is new: then it has to wait for evictions.
      if (!isEnforced) isEnforced = await this.#enforceRoot();
      try {
        await cgroups.ensureShared();
      } catch (error) {
        log.warn("cannot set the limits of the classes of pods", { problem: errorText(error) });
      }
      await clock.sleep(intervalMs, signal).catch(() => undefined);
    }
  }

  async #enforceRoot(): Promise<boolean> {
    const { cgroups, nodeEvents } = this.#deps;
    try {
      await cgroups.enforceRoot();
      const message = "Updated Node Allocatable limit across pods";
      nodeEvents.recordNode({ type: "Normal", reason: enforced, message });
      return true;
    } catch (error) {
      const name = cgroups.rootPath.split("/").filter((part) => part !== "");
      const list = `[${name.map((part) => `"${part}"`).join(" ")}]`;
      const message = `Failed to update Node Allocatable Limits ${list}: ${errorText(error)}`;
      nodeEvents.recordNode({ type: "Warning", reason: notEnforced, message });
      return false;
    }
  }

  async #enforceReserved({ title, name, cgroup, resources }: ReservedCgroup): Promise<void> {
    const { cgroupsAt, nodeEvents } = this.#deps;
    try {
      const cgroups = cgroupsAt(cgroup);
      if (!cgroups.exists(cgroup)) throw new Error(`cgroup ${cgroup} does not exist`);
      await cgroups.update(cgroup, resources);
    } catch (error) {
      const message = `Failed to enforce ${title} Cgroup Limits on "${cgroup}": ${errorText(error)}`;
      nodeEvents.recordNode({ type: "Warning", reason: notEnforced, message });
      throw new Error(message, { cause: error });
    }
    const message = `Updated limits on ${name} cgroup ${cgroup}`;
    nodeEvents.recordNode({ type: "Normal", reason: enforced, message });
  }
}
