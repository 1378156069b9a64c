import { setTimeout as delay } from "node:timers/promises";
import type { ClusterApi } from "../../cluster/support/cluster-api.ts";

interface Lease {
  readonly spec?: { readonly renewTime?: string };
}

/** A controller takes a node for lost after this time (node-monitor-grace-period). */
const allowedGapMs = 40_000;
const askAgainMs = 1_000;

/** How long the node's lease is not renewed. */
export class LeaseWatch {
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  #longestGapMs = 0;

  constructor(api: ClusterApi, node: string) {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`;
    this.#watching = this.#watch(() => api.get<Lease>(path));
  }

  longestGapMs(): number {
    return Math.round(this.#longestGapMs);
  }

  problems(): readonly string[] {
    if (this.#longestGapMs <= allowedGapMs) return [];
    return [`the node's lease was not renewed for ${this.longestGapMs()} ms`];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(read: () => Promise<Lease>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const lease = await read().catch(() => undefined);
      const renewedMs = Date.parse(lease?.spec?.renewTime ?? "");
      const gapMs = Date.now() - renewedMs;
      if (gapMs > this.#longestGapMs) this.#longestGapMs = gapMs;
      await delay(askAgainMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }
}
