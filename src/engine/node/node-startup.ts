import type { NodeEvent } from "../../core/node/node-event.ts";
import type { Cgroups } from "../../ports/cgroups.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";

const cgroupV1Event: NodeEvent = {
  type: "Warning",
  reason: "CgroupV1",
  message:
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1",
};

export interface NodeStartupDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly events: NodeEvents;
  readonly nodeName: string;
  readonly hostUsage: Pick<HostUsage, "bootTimeMs">;
  readonly hostCgroups: Pick<Cgroups, "version">;
  /** What of the machine's resolv.conf does not fit into pods. */
  readonly resolverProblem: string | undefined;
}

/** Announces the start of the agent, and measures how long a machine that is new in its cluster takes to become ready. */
export class NodeStartup {
  readonly #deps: NodeStartupDeps;
  readonly #startedAtMs: number;
  #attemptedAtMs: number | undefined;
  #createdAtMs: number | undefined;
  #isReady = false;

  constructor(deps: NodeStartupDeps) {
    this.#deps = deps;
    this.#startedAtMs = deps.clock.nowMs();
  }

  announce(): void {
    const { metrics, events, nodeName, hostCgroups, resolverProblem } = this.#deps;
    metrics.set("kubelet_node_name", 1, { node: nodeName });
    events.recordNode({ type: "Normal", reason: "Starting", message: "Starting kubelet." });
    if (hostCgroups.version === 1) events.recordNode(cgroupV1Event);
    if (resolverProblem === undefined) return;
    const reason = "CheckLimitsForResolvConf";
    events.recordNode({ type: "Warning", reason, message: resolverProblem });
  }

  /** The agent registers the node. */
  noteAttempt(): void {
    this.#attemptedAtMs ??= this.#deps.clock.nowMs();
  }

  /** The API server did not have the node before. */
  noteCreated(): void {
    if (this.#attemptedAtMs === undefined || this.#createdAtMs !== undefined) return;
    const { metrics, clock, hostUsage } = this.#deps;
    this.#createdAtMs = clock.nowMs();
    const preRegistrationMs = this.#attemptedAtMs - this.#startedAtMs;
    const registrationMs = this.#createdAtMs - this.#attemptedAtMs;
    metrics.set(
      "kubelet_node_startup_pre_kubelet_duration_seconds",
      (this.#startedAtMs - hostUsage.bootTimeMs) / 1000,
    );
    metrics.set("kubelet_node_startup_pre_registration_duration_seconds", preRegistrationMs / 1000);
    metrics.set("kubelet_node_startup_registration_duration_seconds", registrationMs / 1000);
  }

  noteReady(): void {
    if (this.#createdAtMs === undefined || this.#isReady) return;
    const { metrics, clock, hostUsage } = this.#deps;
    const nowMs = clock.nowMs();
    this.#isReady = true;
    metrics.set(
      "kubelet_node_startup_post_registration_duration_seconds",
      (nowMs - this.#createdAtMs) / 1000,
    );
    metrics.set("kubelet_node_startup_duration_seconds", (nowMs - hostUsage.bootTimeMs) / 1000);
  }
}
