import { hasNodeStatusChanged } from "../../core/node/node-change.ts";
import type { NodeEvent } from "../../core/node/node-event.ts";
import { type NodeStatusSettings, withRequiredLabels } from "../../core/node/node-status.ts";
import { withJitter } from "../../lib/backoff.ts";
import { errorText } from "../../lib/error-text.ts";
import { WakeUp } from "../../lib/wake-up.ts";
import { isApiStatus } from "../../model/api-error.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { ApiClient } from "../../ports/api-client.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostUsage } from "../../ports/host-usage.ts";
import type { Log } from "../../ports/log.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { CsiNode } from "./csi-node.ts";
import { NodeApi } from "./node-api.ts";
import { NodeLease } from "./node-lease.ts";
import { registerNode } from "./node-registrar.ts";
import { NodeStartup } from "./node-startup.ts";
import { NodeStatusSource, type NodeStatusSourceDeps } from "./node-status-source.ts";

const updateTries = 5;
const jitterShare = 0.04;
/** What changes together is told together. */
const settleMs = 100;

const cgroupV1Event: NodeEvent = {
  type: "Warning",
  reason: "CgroupV1",
  message:
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1",
};

/** What a node is told to be, and how often it tells. */
export interface NodeSettings extends NodeStatusSettings {
  readonly registerNode: boolean;
  /** How often the status is looked at. */
  readonly statusUpdateMs: number;
  /** How often it is told even when nothing changed. */
  readonly statusReportMs: number;
  readonly leaseDurationSeconds: number;
}

export interface NodeAgentDeps extends NodeStatusSourceDeps {
  readonly api: ApiClient;
  readonly settings: NodeSettings;
  readonly runtime: NodeStatusSourceDeps["runtime"] & Pick<ContainerRuntime, "updateRuntimeConfig">;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly log: Log;
  /** The node as the API server was last heard to have it. */
  readonly knownNode: () => Node | undefined;
  readonly recordNodeEvent: (event: NodeEvent) => void;
  readonly usage: NodeStatusSourceDeps["usage"] & Pick<HostUsage, "bootTimeMs">;
  readonly metrics: Metrics;
  readonly cgroupVersion: 1 | 2;
}

/** The node's life in its cluster: it registers, tells its status, renews its lease, and comes back when it was deleted. */
export class NodeAgent {
  readonly #deps: NodeAgentDeps;
  readonly #nodes: NodeApi;
  readonly #source: NodeStatusSource;
  readonly #lease: NodeLease;
  readonly #csiNode: CsiNode;
  readonly #wakeUp: WakeUp;
  readonly #startup: NodeStartup;
  #isRegistered = false;
  /** As the API server last answered it. */
  #answered: Node | undefined;
  #reportedAtMs: number | undefined;
  #reportDelayMs = 0;
  #podCidr = "";
  #wasUnschedulable = false;
  #hasToldReboot = false;
  #lastProblem = "";

  constructor(deps: NodeAgentDeps) {
    this.#deps = deps;
    const { api, clock, random, log, metrics, settings } = deps;
    const { nodeName, leaseDurationSeconds, statusUpdateMs } = settings;
    const timeoutMs = Math.min(statusUpdateMs, leaseDurationSeconds * 1000);
    this.#nodes = new NodeApi(api, clock, nodeName, timeoutMs);
    this.#csiNode = new CsiNode({ api, log, nodeName });
    this.#source = new NodeStatusSource({
      ...deps,
      problems: () =>
        [this.#csiNode.problem, ...deps.problems()].filter((each) => each !== undefined),
    });
    this.#lease = new NodeLease({
      nodes: this.#nodes,
      clock,
      random,
      log,
      nodeName,
      durationSeconds: leaseDurationSeconds,
    });
    this.#wakeUp = new WakeUp(clock);
    this.#startup = new NodeStartup({ metrics, clock, bootTimeMs: deps.usage.bootTimeMs });
  }

  /** Something that the node tells of may have changed. */
  requestUpdate(): void {
    this.#wakeUp.notify();
  }

  /** Keeps the node known, ready and alive until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, metrics, cgroupVersion, recordNodeEvent } = this.#deps;
    metrics.set("kubelet_node_name", 1, { node: settings.nodeName });
    recordNodeEvent({ type: "Normal", reason: "Starting", message: "Starting kubelet." });
    if (cgroupVersion === 1) recordNodeEvent(cgroupV1Event);
    await Promise.all([this.#lease.run(signal), this.#runStatus(settings, signal)]);
  }

  async #runStatus(settings: NodeSettings, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
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
      if (clock.monotonicMs() - startedAtMs < waitMs) {
        await clock.sleep(settleMs, signal).catch(() => undefined);
      }
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { clock, log, settings, recordNodeEvent } = this.#deps;
    const nodes = this.#nodes;
    const source = this.#source;
    const startup = this.#startup;
    const node = await registerNode(
      { nodes, clock, log, settings, source, startup, recordNodeEvent },
      signal,
    );
    this.#isRegistered = true;
    this.#answered = node;
    this.#reportedAtMs = undefined;
    await this.#csiNode.ensure(node, signal);
  }

  async #update(signal: AbortSignal): Promise<void> {
    for (let tried = 0; tried < updateTries; tried++) {
      try {
        const node = await this.#tryUpdate(tried, signal);
        if (await this.#csiNode.ensure(node, signal)) this.requestUpdate();
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (this.#isGone(error)) return;
        this.#noteProblem(errorText(error));
      }
    }
  }

  /** A node that was deleted is made anew, rather than left without a trace until its agent is restarted. */
  #isGone(error: unknown): boolean {
    if (!this.#deps.settings.registerNode || !isApiStatus(error, 404)) return false;
    this.#deps.log.warn("the node is gone from the api server, registering it again");
    this.#isRegistered = false;
    return true;
  }

  async #tryUpdate(tried: number, signal: AbortSignal): Promise<Node> {
    const { clock, random, settings } = this.#deps;
    const original = tried === 0 ? this.#newestKnown() : await this.#nodes.read(signal);
    if (original === undefined) throw new Error(`node "${settings.nodeName}" not found`);
    const labelled = withRequiredLabels(original, settings.architecture);
    const isCidrNew = await this.#passPodCidr(original, signal);
    const computed = await this.#source.compute(labelled, this.#wasUnschedulable, signal);
    const isChanged =
      isCidrNew ||
      labelled !== original ||
      hasNodeStatusChanged(original.status ?? {}, computed.node.status ?? {});
    const { statusReportMs } = settings;
    const isFirst = this.#reportedAtMs === undefined;
    const sinceMs = clock.monotonicMs() - (this.#reportedAtMs ?? 0);
    let node = original;
    if (isChanged || isFirst || sinceMs >= statusReportMs + this.#reportDelayMs) {
      // Nodes that changed together are not to tell together ever after.
      this.#reportDelayMs = isChanged || isFirst ? statusReportMs * (random() - 0.5) : 0;
      node = await this.#nodes.patchStatus(original, computed.node, signal);
      this.#answered = node;
      this.#reportedAtMs = clock.monotonicMs();
      if (isReady(node)) this.#startup.noteReady();
    }
    this.#noteProblem(computed.problems.join("; "));
    this.#tell(computed.events);
    this.#wasUnschedulable = original.spec?.unschedulable === true;
    return node;
  }

  /** What the server was last heard to have may be older than its last answer. */
  #newestKnown(): Node | undefined {
    const known = this.#deps.knownNode();
    const answered = this.#answered;
    if (known === undefined || answered?.metadata?.uid !== known.metadata?.uid) return known;
    return versionOf(answered) > versionOf(known) ? answered : known;
  }

  async #passPodCidr(node: Node, signal: AbortSignal): Promise<boolean> {
    const cidr = (node.spec?.podCIDRs ?? []).join(",");
    if (cidr === "" || cidr === this.#podCidr) return false;
    try {
      await this.#deps.runtime.updateRuntimeConfig(cidr, signal);
      this.#podCidr = cidr;
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.log.warn("could not tell the runtime the pods' network", {
        cidr,
        error: errorText(error),
      });
    }
    return true;
  }

  #tell(events: readonly NodeEvent[]): void {
    for (const event of events) {
      const isReboot = event.reason === "Rebooted";
      if (isReboot && this.#hasToldReboot) continue;
      this.#hasToldReboot ||= isReboot;
      this.#deps.recordNodeEvent(event);
    }
  }

  /** The same problem is logged once, until it was away. */
  #noteProblem(problem: string): void {
    if (problem !== "" && problem !== this.#lastProblem) {
      this.#deps.log.warn("could not tell the api server all of the node", { problem });
    }
    this.#lastProblem = problem;
  }
}

function isReady({ status }: Node): boolean {
  return (
    status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true
  );
}

function versionOf(node: Node | undefined): bigint {
  const version = node?.metadata?.resourceVersion ?? "";
  return /^\d+$/.test(version) ? BigInt(version) : 0n;
}
