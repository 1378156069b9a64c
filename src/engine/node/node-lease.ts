import { Backoff, withJitter } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { formatTimeMicro } from "../../lib/time.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { Lease, OwnerReference } from "../../model/generated/kubernetes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { NodeApi } from "./node-api.ts";

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const updateTries = 5;
const retryLimits = { initialMs: 200, maxMs: 7_000 };
const jitterShare = 0.04;

export interface NodeLeaseDeps {
  readonly nodes: NodeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeName: string;
  readonly durationSeconds: number;
}

/** Shows the cluster that the node is alive, by renewing its lease. */
export class NodeLease {
  readonly #deps: NodeLeaseDeps;
  readonly #path: string;
  /** As the API server last answered it. */
  #latest: Lease | undefined;

  constructor(deps: NodeLeaseDeps) {
    this.#deps = deps;
    this.#path = `${leases}/${encodeURIComponent(deps.nodeName)}`;
  }

  /** Renews the lease four times in the time that it lasts, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, durationSeconds } = this.#deps;
    const renewMs = (durationSeconds * 1000) / 4;
    while (!signal.aborted) {
      await this.#renew(signal).catch(() => undefined);
      await clock.sleep(withJitter(renewMs, jitterShare, random()), signal).catch(() => undefined);
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    if (this.#latest !== undefined && (await this.#update(this.#latest, signal))) return;
    const { lease, isNew } = await this.#ensure(signal);
    this.#latest = lease;
    if (lease !== undefined && !isNew) await this.#update(lease, signal);
  }

  /** The lease that there is, or a new one; undefined while the node that owns it is not there. */
  async #ensure(
    signal: AbortSignal,
  ): Promise<{ readonly lease: Lease | undefined; readonly isNew: boolean }> {
    const { clock, log, nodes } = this.#deps;
    const backoff = new Backoff(retryLimits);
    while (true) {
      try {
        return {
          lease: await nodes.inTime<Lease>({ method: "GET", path: this.#path }, signal),
          isNew: false,
        };
      } catch (error) {
        signal.throwIfAborted();
        if (isApiStatus(error, 404)) {
          const created = await this.#create(signal);
          if (created.isDone) return { lease: created.lease, isNew: true };
        } else {
          log.warn("cannot read the node lease", { error: errorText(error) });
        }
      }
      await clock.sleep(backoff.nextMs(), signal);
    }
  }

  async #create(
    signal: AbortSignal,
  ): Promise<{ readonly isDone: boolean; readonly lease?: Lease }> {
    const { log, nodes, nodeName } = this.#deps;
    const owner = await this.#readOwner(signal);
    if (owner === undefined) return { isDone: true };
    const body = this.#renewed({
      kind: "Lease",
      apiVersion: "coordination.k8s.io/v1",
      metadata: { name: nodeName, namespace: "kube-node-lease", ownerReferences: [owner] },
      spec: { holderIdentity: nodeName },
    });
    try {
      const request = { method: "POST", path: leases, body } as const;
      return { isDone: true, lease: await nodes.inTime<Lease>(request, signal) };
    } catch (error) {
      signal.throwIfAborted();
      log.warn("cannot create the node lease", { error: errorText(error) });
      return { isDone: false };
    }
  }

  /** Returns whether it is renewed. */
  async #update(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { log, nodes } = this.#deps;
    let lease: Lease | undefined = base;
    for (let tried = 0; tried < updateTries && lease !== undefined; tried++) {
      try {
        const body = this.#renewed(await this.#owned(lease, signal));
        const request = { method: "PUT", path: this.#path, body } as const;
        this.#latest = await nodes.inTime<Lease>(request, signal);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        log.warn("cannot renew the node lease", { error: errorText(error), tried });
        // Someone else changed it, or it is gone with a node that was deleted.
        if (isApiStatus(error, 404)) return false;
        if (isApiStatus(error, 409)) lease = (await this.#ensure(signal)).lease;
      }
    }
    return false;
  }

  #renewed(lease: Lease): Lease {
    const { clock, durationSeconds } = this.#deps;
    return {
      ...lease,
      spec: {
        ...lease.spec,
        leaseDurationSeconds: durationSeconds,
        renewTime: formatTimeMicro(clock.nowMs()),
      },
    };
  }

  async #owned(lease: Lease, signal: AbortSignal): Promise<Lease> {
    if ((lease.metadata?.ownerReferences ?? []).length > 0) return lease;
    const owner = await this.#readOwner(signal);
    if (owner === undefined) return lease;
    return { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } };
  }

  async #readOwner(signal: AbortSignal): Promise<OwnerReference | undefined> {
    const { nodes, nodeName, log } = this.#deps;
    try {
      const { metadata } = await nodes.read(signal);
      return { apiVersion: "v1", kind: "Node", name: nodeName, uid: metadata?.uid ?? "" };
    } catch (error) {
      signal.throwIfAborted();
      log.debug("the node of the lease is not registered yet", { error: errorText(error) });
      return undefined;
    }
  }
}
