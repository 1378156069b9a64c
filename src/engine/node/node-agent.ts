import { hasNodeStatusChanged } from "../../core/node/node-change.ts";
import type { NodeEvent } from "../../core/node/node-event.ts";
import { initialNode, reconcileNode } from "../../core/node/node-registration.ts";
import { withRequiredLabels } from "../../core/node/node-status.ts";
import { Backoff, withJitter } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { formatTimeMicro } from "../../lib/time.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import { ApiError, isApiStatus } from "../../model/api-error.ts";
import type { Lease, Node, OwnerReference } from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { NodeEvents } from "../cluster/event-sender.ts";
import type { CsiNode } from "./csi-node.ts";
import { NodeApi } from "./node-api.ts";
import type { NodeSettings } from "./node-settings.ts";
import type { NodeStartup } from "./node-startup.ts";
import type { NodeStatusSource } from "./node-status-source.ts";

const updateTries = 5;
const registerLimits = { initialMs: 100, maxMs: 7_000 };
const jitterShare = 0.04;
/** What changes together is reported together. */
const settleMs = 100;

export interface NodeAgentDeps {
  readonly api: ApiClient;
  readonly settings: NodeSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly runtime: Pick<ContainerRuntime, "updateRuntimeConfig">;
  readonly cluster: {
    /** The node as the API server last reported or answered it. */
    readonly node: Node | undefined;
    noteAnswered(node: Node): void;
    readonly events: NodeEvents;
  };
  readonly source: NodeStatusSource;
  readonly csiNode: CsiNode;
  readonly startup: NodeStartup;
}

/** The node's life in its cluster: registers it, reports its status, renews its lease, and registers it again when it was deleted. */
export class NodeAgent {
  readonly #deps: NodeAgentDeps;
  readonly #nodes: NodeApi;
  readonly #lease: NodeLease;
  readonly #wakeUp: WakeUp;
  #isRegistered = false;
  #reportedAtMs: number | undefined;
  #reportDelayMs = 0;
  #podCidr = "";
  #wasUnschedulable = false;
  #hasReportedReboot = false;
  #lastProblem = "";

  constructor(deps: NodeAgentDeps) {
    this.#deps = deps;
    const { api, clock, settings } = deps;
    const { nodeName, leaseDurationSeconds, statusUpdateMs } = settings;
    const timeoutMs = Math.min(statusUpdateMs, leaseDurationSeconds * 1000);
    this.#nodes = new NodeApi(api, clock, nodeName, timeoutMs);
    this.#lease = new NodeLease(deps, this.#nodes);
    this.#wakeUp = new WakeUp(clock);
  }

  /** Something that the node's status reports may have changed. */
  requestUpdate(): void {
    this.#wakeUp.notify();
  }

  /** Keeps the node known, ready and alive until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, startup } = this.#deps;
    startup.announce();
    await Promise.all([this.#lease.run(signal), this.#runStatus(settings, signal)]);
  }

  async #runStatus(settings: NodeSettings, signal: AbortSignal): Promise<void> {
    const { clock, random, source } = this.#deps;
    while (!signal.aborted) {
      try {
        if (settings.registerNode && !this.#isRegistered) await this.#register(signal);
        await this.#update(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#noteProblem(errorText(error));
      }
      if (settings.registerNode && !this.#isRegistered) continue;
      const startedAtMs = clock.monotonicMs();
      const waitMs = withJitter(settings.statusUpdateMs, jitterShare, random());
      await this.#wakeUp.wait(waitMs, signal);
      if (clock.monotonicMs() - startedAtMs < waitMs && !source.isUrgent) {
        await clock.sleep(settleMs, signal).catch(() => undefined);
      }
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const node = await this.#registerUntilDone(signal);
    this.#isRegistered = true;
    this.#deps.cluster.noteAnswered(node);
    this.#reportedAtMs = undefined;
    await this.#deps.csiNode.ensure(node, signal);
  }

  /** Returns the node as the API server has it. */
  async #registerUntilDone(signal: AbortSignal): Promise<Node> {
    const { clock, log, settings, source, startup, cluster } = this.#deps;
    startup.noteAttempt();
    const backoff = new Backoff(registerLimits);
    while (true) {
      await clock.sleep(backoff.nextMs(), signal);
      const { node, events, problems } = await source.compute(initialNode(settings), false, signal);
      for (const problem of problems)
        log.warn("cannot determine all of the node status", { problem });
      try {
        const registered = await this.#createOrReconcile(node, signal);
        log.info("registered the node", { node: settings.nodeName });
        for (const event of events) cluster.events.recordNode(event);
        return registered;
      } catch (error) {
        signal.throwIfAborted();
        const fields = { node: settings.nodeName, error: errorText(error) };
        log.warn("cannot register the node, will retry", fields);
      }
    }
  }

  async #createOrReconcile(node: Node, signal: AbortSignal): Promise<Node> {
    const { log, startup } = this.#deps;
    try {
      const created = await this.#nodes.create(node, signal);
      startup.noteCreated();
      return created;
    } catch (error) {
      const isThere = error instanceof ApiError && error.reason === "AlreadyExists";
      // An agent that may not create nodes may use the one that was created for it.
      if (!isThere && !isApiStatus(error, 403)) throw error;
    }
    const existing = await this.#nodes.read(signal);
    log.info("the node was registered before", { node: existing.metadata?.name });
    const reconciled = reconcileNode(node, existing, false);
    if (!reconciled.requiresUpdate) return existing;
    return await this.#nodes.patchStatus(existing, reconciled.node, signal);
  }

  async #update(signal: AbortSignal): Promise<void> {
    for (let tried = 0; tried < updateTries; tried++) {
      try {
        const node = await this.#tryUpdate(tried, signal);
        if (await this.#deps.csiNode.ensure(node, signal)) this.requestUpdate();
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (this.#isGone(error)) return;
        this.#noteProblem(errorText(error));
      }
    }
  }

  /** A node that was deleted is registered again, rather than missing until its agent is restarted. */
  #isGone(error: unknown): boolean {
    if (!this.#deps.settings.registerNode || !isApiStatus(error, 404)) return false;
    this.#deps.log.warn("the node is gone from the api server, registering it again");
    this.#isRegistered = false;
    return true;
  }

  async #tryUpdate(tried: number, signal: AbortSignal): Promise<Node> {
    const { clock, cluster, random, settings, source, startup } = this.#deps;
    const original = tried === 0 ? cluster.node : await this.#nodes.read(signal);
    if (original === undefined) throw new Error(`node "${settings.nodeName}" not found`);
    const labelled = withRequiredLabels(original, settings.architecture);
    const isCidrNew = await this.#passPodCidr(original, signal);
    const computed = await source.compute(labelled, this.#wasUnschedulable, signal);
    const isChanged =
      isCidrNew ||
      labelled !== original ||
      hasNodeStatusChanged(original.status ?? {}, computed.node.status ?? {});
    const { statusReportMs } = settings;
    const isFirst = this.#reportedAtMs === undefined;
    const sinceMs = clock.monotonicMs() - (this.#reportedAtMs ?? 0);
    let node = original;
    if (isChanged || isFirst || sinceMs >= statusReportMs + this.#reportDelayMs) {
      // Nodes that changed at the same time shall not report at the same time from then on.
      this.#reportDelayMs = isChanged || isFirst ? statusReportMs * (random() - 0.5) : 0;
      node = await this.#nodes.patchStatus(original, computed.node, signal);
      cluster.noteAnswered(node);
      this.#reportedAtMs = clock.monotonicMs();
      if (isReady(node)) startup.noteReady();
    }
    source.noteReported(node);
    this.#noteProblem(computed.problems.join("; "));
    this.#recordEvents(computed.events);
    this.#wasUnschedulable = original.spec?.unschedulable === true;
    return node;
  }

  async #passPodCidr(node: Node, signal: AbortSignal): Promise<boolean> {
    const cidr = (node.spec?.podCIDRs ?? []).join(",");
    if (cidr === "" || cidr === this.#podCidr) return false;
    try {
      await this.#deps.runtime.updateRuntimeConfig(cidr, signal);
      this.#podCidr = cidr;
    } catch (error) {
      signal.throwIfAborted();
      const fields = { cidr, error: errorText(error) };
      this.#deps.log.warn("cannot pass the pod CIDR to the runtime", fields);
    }
    return true;
  }

  #recordEvents(events: readonly NodeEvent[]): void {
    for (const event of events) {
      const isReboot = event.reason === "Rebooted";
      if (isReboot && this.#hasReportedReboot) continue;
      this.#hasReportedReboot ||= isReboot;
      this.#deps.cluster.events.recordNode(event);
    }
  }

  /** Logs a problem once, until it is solved. */
  #noteProblem(problem: string): void {
    if (problem !== "" && problem !== this.#lastProblem) {
      this.#deps.log.warn("cannot update all of the node status", { problem });
    }
    this.#lastProblem = problem;
  }
}

function isReady({ status }: Node): boolean {
  return (
    status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true
  );
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const retryLimits = { initialMs: 200, maxMs: 7_000 };

/** Shows the cluster that the node is alive, by renewing its lease. */
class NodeLease {
  readonly #deps: Pick<NodeAgentDeps, "settings" | "clock" | "random" | "log">;
  readonly #nodes: NodeApi;
  readonly #path: string;
  /** As the API server last answered it. */
  #latest: Lease | undefined;

  constructor(deps: NodeAgentDeps, nodes: NodeApi) {
    this.#deps = deps;
    this.#nodes = nodes;
    this.#path = `${leases}/${encodeURIComponent(deps.settings.nodeName)}`;
  }

  /** Renews the lease four times in the time that it lasts, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, settings } = this.#deps;
    const renewMs = (settings.leaseDurationSeconds * 1000) / 4;
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
    const { clock, log } = this.#deps;
    const backoff = new Backoff(retryLimits);
    while (true) {
      try {
        return {
          lease: await this.#nodes.inTime<Lease>({ method: "GET", path: this.#path }, signal),
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
    const { log } = this.#deps;
    const { nodeName } = this.#deps.settings;
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
      return { isDone: true, lease: await this.#nodes.inTime<Lease>(request, signal) };
    } catch (error) {
      signal.throwIfAborted();
      log.warn("cannot create the node lease", { error: errorText(error) });
      return { isDone: false };
    }
  }

  /** Returns whether it is renewed. */
  async #update(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { log } = this.#deps;
    let lease: Lease | undefined = base;
    for (let tried = 0; tried < updateTries && lease !== undefined; tried++) {
      try {
        const body = this.#renewed(await this.#owned(lease, signal));
        const request = { method: "PUT", path: this.#path, body } as const;
        this.#latest = await this.#nodes.inTime<Lease>(request, signal);
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
    const { clock, settings } = this.#deps;
    return {
      ...lease,
      spec: {
        ...lease.spec,
        leaseDurationSeconds: settings.leaseDurationSeconds,
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
    const { log, settings } = this.#deps;
    try {
      const { metadata } = await this.#nodes.read(signal);
      return { apiVersion: "v1", kind: "Node", name: settings.nodeName, uid: metadata?.uid ?? "" };
    } catch (error) {
      signal.throwIfAborted();
      log.debug("the node of the lease is not registered yet", { error: errorText(error) });
      return undefined;
    }
  }
}
