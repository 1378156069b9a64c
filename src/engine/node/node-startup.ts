import type { Clock } from "../../ports/clock.ts";
import type { Metrics } from "../../ports/metrics.ts";

export interface NodeStartupDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly bootTimeMs: number;
}

/** Measures how long a machine takes to become a ready node of its cluster; only of nodes that are new there. */
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

  noteAttempt(): void {
    this.#attemptedAtMs ??= this.#deps.clock.nowMs();
  }

  noteCreated(): void {
    if (this.#attemptedAtMs === undefined || this.#createdAtMs !== undefined) return;
    const { metrics, clock, bootTimeMs } = this.#deps;
    this.#createdAtMs = clock.nowMs();
    const preRegistrationMs = this.#attemptedAtMs - this.#startedAtMs;
    const registrationMs = this.#createdAtMs - this.#attemptedAtMs;
    metrics.set(
      "kubelet_node_startup_pre_kubelet_duration_seconds",
      (this.#startedAtMs - bootTimeMs) / 1000,
    );
    metrics.set("kubelet_node_startup_pre_registration_duration_seconds", preRegistrationMs / 1000);
    metrics.set("kubelet_node_startup_registration_duration_seconds", registrationMs / 1000);
  }

  noteReady(): void {
    if (this.#createdAtMs === undefined || this.#isReady) return;
    const { metrics, clock, bootTimeMs } = this.#deps;
    const nowMs = clock.nowMs();
    this.#isReady = true;
    metrics.set(
      "kubelet_node_startup_post_registration_duration_seconds",
      (nowMs - this.#createdAtMs) / 1000,
    );
    metrics.set("kubelet_node_startup_duration_seconds", (nowMs - bootTimeMs) / 1000);
  }
}
