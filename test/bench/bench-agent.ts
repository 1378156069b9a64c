import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Node, PodSpec } from "../../src/model/generated/kubernetes.ts";
import { onPrivateNode } from "../cluster/support/private-node.ts";
import { ServerProcess } from "../cluster/support/server-process.ts";
import { podManifest } from "../integration/support/agent-manifests.ts";
import { benchClusterDns, benchClusterDomain, benchNode } from "./bench-settings.ts";
import type { BenchWorld } from "./bench-world.ts";

/** A kubelet: what it is called in the table, and the command that gets its flags. */
export interface Contender {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

const readyTimeoutMs = 90_000;
const askAgainMs = 50;

/** One contender with folders and settings of its own, on the runtime and in the cluster that all of them share. */
export class BenchAgent {
  readonly contender: Contender;
  readonly rootDir: string;
  readonly healthPort: number;
  readonly #world: BenchWorld;
  readonly #folder: string;
  readonly #manifests: string;
  readonly #flags: readonly string[];
  #process: ServerProcess | undefined;
  #startedMs = 0;

  private constructor(
    world: BenchWorld,
    contender: Contender,
    endpoint: string,
    ports: readonly [number, number],
  ) {
    this.contender = contender;
    this.healthPort = ports[1];
    this.#world = world;
    this.#folder = join(world.folder, contender.name);
    this.rootDir = join(this.#folder, "root");
    this.#manifests = join(this.#folder, "manifests");
    mkdirSync(this.#manifests, { recursive: true });
    const config = join(this.#folder, "kubelet.json");
    writeFileSync(config, JSON.stringify(this.#config(endpoint, ports), null, 1));
    const { cluster } = world;
    this.#flags = [
      `--config=${config}`,
      `--root-dir=${this.rootDir}`,
      `--cert-dir=${join(this.#folder, "pki")}`,
      `--hostname-override=${benchNode}`,
      ...(cluster === undefined ? [] : [`--kubeconfig=${cluster.nodeKubeconfig}`]),
      ...(cluster?.nodeIp === undefined ? [] : [`--node-ip=${cluster.nodeIp}`]),
    ];
  }

  /** Not running yet. `endpoint`: the runtime's, or that of something in front of it. */
  static async create(
    world: BenchWorld,
    contender: Contender,
    endpoint: string = world.endpoint,
  ): Promise<BenchAgent> {
    return new BenchAgent(world, contender, endpoint, [await freePort(), await freePort()]);
  }

  get name(): string {
    return this.contender.name;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  start(): void {
    this.#startedMs = Date.now();
    const command = onPrivateNode(
      { rootDir: this.rootDir, folder: this.#folder },
      this.contender.command,
    );
    const log = join(this.#folder, "agent.log");
    this.#process = new ServerProcess([...command, ...this.#flags], log);
  }

  /** Starts it; resolves when the node can run pods. */
  async startReady(): Promise<void> {
    this.start();
    try {
      await Promise.race([this.#untilReady(), this.#untilEnded()]);
    } catch (error) {
      const words = this.#process?.lastWords() ?? "";
      throw new Error(`${this.name} is not ready: ${words}`, { cause: error });
    }
  }

  /** Ends it; its pods stay. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#process?.stop(signal);
    this.#process = undefined;
  }

  lastWords(): string {
    return this.#process?.lastWords() ?? "";
  }

  /** Puts the manifest of a pod in place in one step. */
  putManifest(name: string, spec: Partial<PodSpec> = {}): void {
    const draft = join(this.#folder, `${name}.draft`);
    writeFileSync(draft, podManifest(name, spec));
    renameSync(draft, join(this.#manifests, `${name}.json`));
  }

  removeManifest(name: string): void {
    rmSync(join(this.#manifests, `${name}.json`));
  }

  #config(endpoint: string, [port, healthzPort]: readonly [number, number]): object {
    return {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      address: "127.0.0.1",
      port,
      healthzBindAddress: "127.0.0.1",
      healthzPort,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: "AlwaysAllow" },
      containerRuntimeEndpoint: endpoint,
      cgroupDriver: "cgroupfs",
      cgroupRoot: this.#world.cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      staticPodPath: this.#manifests,
      podLogsDir: join(this.#folder, "logs"),
      volumePluginDir: join(this.#folder, "volume-plugins"),
      clusterDNS: [benchClusterDns],
      clusterDomain: benchClusterDomain,
      maxPods: 1000,
      // The machine may be fuller than a node should be.
      evictionHard: {},
      imageGCHighThresholdPercent: 100,
      makeIPTablesUtilChains: false,
    };
  }

  async #untilReady(): Promise<void> {
    const { cluster } = this.#world;
    if (cluster === undefined) {
      await this.#untilHealthy();
      return;
    }
    await cluster.api.until<Node>(
      `/api/v1/nodes?fieldSelector=metadata.name=${benchNode}`,
      ([node]) => node !== undefined && isReadySince(node, this.#startedMs),
      readyTimeoutMs,
    );
  }

  async #untilEnded(): Promise<never> {
    await this.#process?.ended;
    throw new Error("it has ended");
  }

  async #untilHealthy(): Promise<void> {
    const timeout = AbortSignal.timeout(readyTimeoutMs);
    const isHealthy = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${this.healthPort}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isHealthy())) {
      timeout.throwIfAborted();
      await delay(askAgainMs);
    }
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

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
