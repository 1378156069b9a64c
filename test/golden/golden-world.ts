import { mkdir, rm, writeFile } from "node:fs/promises";
import { createAgent } from "../../src/app/create-agent.ts";
import { dataLayout } from "../../src/app/data-layout.ts";
import { createSources } from "../../src/app/manifest-sources.ts";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { type CriRuntime, createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import type { GrpcCall } from "../../src/drivers/cri/grpc-connection.ts";
import type { Agent } from "../../src/engine/agent.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { AgentView } from "../../src/ports/agent-view.ts";
import type { Log } from "../../src/ports/log.ts";
import { type RuntimeWorld, startRuntimeWorld } from "../integration/support/runtime-world.ts";
import { ApiPods } from "./api-pods.ts";
import { recordedImages } from "./images.ts";
import type { TraceFolders } from "./known-names.ts";
import { recordedNode, recordedNodeName } from "./recorded-node.ts";

const PREPARE_TIMEOUT_MS = 60_000;

/** Berth on a containerd of its own, as a node that looks like the recorded one; keeps every CRI call. */
export class GoldenWorld {
  readonly api: ApiPods = new ApiPods();
  /** The same runtime by a connection whose calls are not kept. */
  readonly tools: CriRuntime;
  readonly #world: RuntimeWorld;
  readonly #calls: GrpcCall[];
  readonly #log: Log;
  #running: { agent: Agent; stop: AbortController; ended: Promise<void> } | undefined;

  private constructor(world: RuntimeWorld, calls: GrpcCall[], log: Log) {
    this.#world = world;
    this.#calls = calls;
    this.#log = log;
    this.tools = createCriRuntime(world.containerd.endpoint);
  }

  /** Each world that runs at the same time has a network number of its own. */
  static async start(network: number, log: Log): Promise<GoldenWorld> {
    const calls: GrpcCall[] = [];
    const onCall = (call: GrpcCall): void => void calls.push(call);
    const world = await startRuntimeWorld({ network, onCall });
    const golden = new GoldenWorld(world, calls, log);
    try {
      await golden.#prepare();
      await golden.startAgent();
    } catch (error) {
      await golden.close();
      throw error;
    }
    return golden;
  }

  get calls(): readonly GrpcCall[] {
    return this.#calls;
  }

  get folders(): TraceFolders {
    const { rootFolder, podLogs } = dataLayout(this.#world.dataDir);
    return { data: rootFolder, podLogs, cgroupRoot: this.#world.cgroupRoot };
  }

  get view(): AgentView {
    if (this.#running === undefined) throw new Error("the agent is not running");
    return this.#running.agent.view;
  }

  async startAgent(): Promise<void> {
    const { dataDir, cgroupRoot, runtime, containerd } = this.#world;
    const stop = new AbortController();
    const sources = createSources({}, recordedNodeName, dataLayout(dataDir));
    const agent = await createAgent(
      {
        dataDir,
        nodeName: recordedNodeName,
        cgroupRoot,
        runtime,
        runtimeEndpoint: containerd.endpoint,
        sources: [...sources, this.api],
        log: this.#log,
        nodeFacts: recordedNode,
      },
      stop.signal,
    );
    this.#running = { agent, stop, ended: agent.run() };
  }

  async stopAgent(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.ended;
    this.#running = undefined;
  }

  async writeManifest(name: string, manifest: unknown): Promise<void> {
    await writeFile(this.#manifestPath(name), JSON.stringify(manifest));
  }

  async removeManifest(name: string): Promise<void> {
    await rm(this.#manifestPath(name), { force: true });
  }

  /** The life of a pod as its worker has it, such as "terminated". */
  async workerState({ metadata: { uid } }: Pod): Promise<string> {
    if (this.#running === undefined) return "no agent";
    if (this.view.listPods().every(({ metadata }) => metadata.uid !== uid)) return "unknown";
    return (await this.view.explain(uid, AbortSignal.timeout(5_000))).workerState;
  }

  async close(): Promise<void> {
    await this.stopAgent();
    this.tools.close();
    await this.#world.close();
  }

  #manifestPath(name: string): string {
    return `${dataLayout(this.#world.dataDir).manifests}/${name}.json`;
  }

  async #prepare(): Promise<void> {
    const { containerd, runtime } = this.#world;
    const target = { images: runtime, ctr: containerd.tools.ctr, socket: containerd.paths.socket };
    await ensureImages(target, recordedImages, AbortSignal.timeout(PREPARE_TIMEOUT_MS));
    const profiles = `${this.folders.data}/seccomp`;
    await mkdir(profiles, { recursive: true });
    await writeFile(`${profiles}/p.json`, JSON.stringify({ defaultAction: "SCMP_ACT_ALLOW" }));
  }
}
