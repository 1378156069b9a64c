import { setTimeout as delay } from "node:timers/promises";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import { buildProgram } from "../../integration/support/agent-process.ts";
import { type RuntimeWorld, startRuntimeWorld } from "../../integration/support/runtime-world.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { ClusterNode, type NodeAgent } from "./cluster-node.ts";
import { clusterProgram } from "./cluster-programs.ts";
import { ControlPlane, type ControlPlaneOptions } from "./control-plane.ts";
import { Kubectl } from "./kubectl.ts";

const readyTimeoutMs = 60_000;

interface ClusterWorldOptions extends ControlPlaneOptions {
  readonly config?: object;
  readonly flags?: (plane: ControlPlane) => readonly string[];
  /** Another program than the machine's containerd. */
  readonly containerd?: string;
  readonly hasMachinesMounts?: boolean;
}

/** A cluster with a runtime and a node. */
export class ClusterWorld {
  readonly plane: ControlPlane;
  readonly runtime: RuntimeWorld;
  readonly node: ClusterNode;

  private constructor(plane: ControlPlane, runtime: RuntimeWorld, node: ClusterNode) {
    this.plane = plane;
    this.runtime = runtime;
    this.node = node;
  }

  /** A cluster whose node has no agent yet. */
  static async create(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
    const { config, flags, containerd, hasMachinesMounts } = options;
    const plane = await ControlPlane.start(options);
    try {
      const runtime = await startRuntimeWorld({
        network: plane.network,
        ...(containerd !== undefined && { program: containerd }),
      });
      const node = new ClusterNode({
        name: "node-a",
        plane,
        world: runtime,
        ...(config && { config }),
        ...(flags && { flags: flags(plane) }),
        hasMachinesMounts,
      });
      return new ClusterWorld(plane, runtime, node);
    } catch (error) {
      await plane.stop();
      throw error;
    }
  }

  /** A cluster whose node is ready. */
  static async start(agent: NodeAgent, options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
    const world = await ClusterWorld.create(options);
    try {
      await world.startNode(agent);
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  get api(): ClusterApi {
    return this.plane.api;
  }

  get kubectl(): Kubectl {
    return this.plane.kubectl;
  }

  /** Starts the node's agent; resolves when the node is ready. */
  async startNode(agent: NodeAgent): Promise<void> {
    if (agent === "berth") buildProgram();
    const startedMs = Date.now();
    this.node.start(agent);
    try {
      await this.api.until<Node>(
        `/api/v1/nodes?fieldSelector=metadata.name=${this.node.name}`,
        ([node]) => node !== undefined && isReadySince(node, startedMs),
        readyTimeoutMs,
      );
    } catch (error) {
      throw new Error(`the node is not ready: ${this.node.lastWords()}`, { cause: error });
    }
  }

  kubectlAs(kubeconfig: string): Kubectl {
    return new Kubectl(clusterProgram("kubectl"), kubeconfig);
  }

  /** What pods have left on the node; waits for the agent to clean up. */
  async leftovers(timeoutMs = 100_000): Promise<readonly string[]> {
    const timeout = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const left = await this.node.findLeftovers(this.runtime);
      if (left.length === 0 || timeout.aborted) return left;
      await delay(500);
    }
  }

  async close(): Promise<void> {
    await this.node.remove(this.runtime);
    await this.runtime.close();
    await this.plane.stop();
  }
}

/** Ready, and said so by the agent that was started then. */
function isReadySince({ status, spec }: Node, startedMs: number): boolean {
  const ready = (status?.conditions ?? []).find(({ type }) => type === "Ready");
  // Times have whole seconds.
  const heartbeatMs = Date.parse(ready?.lastHeartbeatTime ?? "") + 1_000;
  const hasTaints = (spec?.taints ?? []).some(({ key }) => key?.startsWith("node.kubernetes.io/"));
  return ready?.status === "True" && heartbeatMs > startedMs && !hasTaints;
}
