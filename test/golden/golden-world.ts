import { execFileSync } from "node:child_process";
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createAgent } from "../../src/app/create-agent.ts";
import { dataLayout } from "../../src/app/data-layout.ts";
import { createSources, parseSources } from "../../src/app/manifest-sources.ts";
import { countRuntimeCalls } from "../../src/app/runtime-metrics.ts";
import { ensureImages } from "../../src/drivers/containerd/local-images.ts";
import { type CriRuntime, createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import type { GrpcCall } from "../../src/drivers/grpc/grpc-connection.ts";
import type { Agent } from "../../src/engine/agent.ts";
import { MetricsRegistry } from "../../src/lib/metrics-registry.ts";
import { metricDefinitions } from "../../src/model/generated/metrics.ts";
import type { Log } from "../../src/ports/log.ts";
import { type RuntimeWorld, startRuntimeWorld } from "../integration/support/runtime-world.ts";
import { foreignFilesProgram } from "../kit/foreign-files-program.ts";
import { GoldenApi } from "./golden-api.ts";
import { agnhost, recordedImages } from "./images.ts";
import { textAt } from "./json-path.ts";
import type { TraceFolders } from "./known-names.ts";
import { LocalRegistry } from "./local-registry.ts";
import { recordedNode, recordedNodeName, recordedTuning } from "./recorded-node.ts";
import { observedTrace } from "./trace.ts";

const PREPARE_TIMEOUT_MS = 60_000;
const SANDBOX_CALLS: ReadonlySet<string> = new Set(["RunPodSandbox", "RemovePodSandbox"]);

/** Berth on a containerd of its own, as a node that looks like the recorded one; keeps every call and request. */
export class GoldenWorld {
  readonly api: GoldenApi = new GoldenApi();
  readonly metrics: MetricsRegistry;
  /** The same runtime by a connection whose calls are not kept. */
  readonly tools: CriRuntime;
  readonly #world: RuntimeWorld;
  readonly #calls: GrpcCall[];
  readonly #log: Log;
  #registry: LocalRegistry | undefined;
  #running: { agent: Agent; stop: AbortController; ended: Promise<void> } | undefined;

  private constructor(world: RuntimeWorld, calls: GrpcCall[], metrics: MetricsRegistry, log: Log) {
    this.#world = world;
    this.metrics = metrics;
    this.#calls = calls;
    this.#log = log;
    this.tools = createCriRuntime(world.containerd.endpoint);
  }

  /** Each world that runs at the same time has a network number of its own; its API server knows no node. */
  static async start(network: number, log: Log): Promise<GoldenWorld> {
    const calls: GrpcCall[] = [];
    const metrics = new MetricsRegistry(metricDefinitions);
    const count = countRuntimeCalls(metrics);
    const onCall = (call: GrpcCall): void => {
      calls.push(call);
      count(call);
    };
    const world = await startRuntimeWorld({ network, onCall });
    const golden = new GoldenWorld(world, calls, metrics, log);
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
    const { cgroupRoot } = this.#world;
    return { data: rootFolder, podLogs, cgroupRoot, registry: this.registryHost };
  }

  /** A registry that has the image agnhost. */
  get registryHost(): string {
    if (this.#registry === undefined) throw new Error("the registry is not running");
    return this.#registry.host;
  }

  get agent(): Agent {
    if (this.#running === undefined) throw new Error("the agent is not running");
    return this.#running.agent;
  }

  async startAgent(): Promise<void> {
    const { dataDir, cgroupRoot, runtime, containerd } = this.#world;
    const stop = new AbortController();
    // Every call in progress listens to it.
    setMaxListeners(0, stop.signal);
    const sources = createSources(parseSources({}), recordedNodeName, dataLayout(dataDir));
    const agent = await createAgent(
      {
        place: {
          dataDir,
          nodeName: recordedNodeName,
          foreignFilesProgram: foreignFilesProgram(),
          cgroupRoot,
        },
        runtime,
        runtimeEndpoint: containerd.endpoint,
        sources,
        clients: { api: this.api },
        telemetry: { log: this.#log, metrics: this.metrics },
        nodeFacts: recordedNode,
        tuning: recordedTuning,
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

  /** Whether every sandbox that was made in a namespace has been removed, as far as answers have come. */
  async hasRemoved(namespace: string): Promise<boolean> {
    const signal = AbortSignal.timeout(PREPARE_TIMEOUT_MS);
    const left = await this.tools.listPodSandboxes({}, signal);
    if (left.some(({ metadata }) => metadata?.namespace === namespace)) return false;
    const trace = observedTrace(this.#calls.filter(({ method }) => SANDBOX_CALLS.has(method)));
    const removed = new Set(
      trace
        .filter(({ method, failure }) => method === "RemovePodSandbox" && failure === undefined)
        .map(({ request }) => textAt(request, "pod_sandbox_id")),
    );
    return trace
      .filter(({ request }) => textAt(request, "config", "metadata", "namespace") === namespace)
      .map(({ response }) => textAt(response, "pod_sandbox_id"))
      .every((id) => id === "" || removed.has(id));
  }

  async close(): Promise<void> {
    await this.stopAgent();
    this.tools.close();
    this.#registry?.close();
    this.#unmountVolumes();
    await this.#world.close();
  }

  /** A scenario that failed leaves its pods behind. */
  #unmountVolumes(): void {
    const data = dataLayout(this.#world.dataDir).rootFolder;
    for (const line of readFileSync("/proc/self/mounts", "utf8").split("\n")) {
      const folder = line.split(" ")[1] ?? "";
      if (folder.startsWith(`${data}/pods/`)) execFileSync("umount", ["--lazy", folder]);
    }
  }

  #manifestPath(name: string): string {
    return `${dataLayout(this.#world.dataDir).manifests}/${name}.json`;
  }

  /** An image is unpacked for its first container; the recorded machine had used its images before. */
  async #unpack(image: string, signal: AbortSignal): Promise<void> {
    const metadata = { name: "unpack", uid: "unpack", namespace: "unpack", attempt: 0 };
    const linux = { cgroupParent: `${this.#world.cgroupRoot}/unpack` };
    const sandbox = { metadata, linux };
    const id = await this.tools.runPodSandbox(sandbox, "", signal);
    const container = { metadata: { name: "c", attempt: 0 }, image: { image }, linux: {} };
    await this.tools.createContainer(id, container, sandbox, signal);
    await this.tools.stopPodSandbox(id, signal);
    await this.tools.removePodSandbox(id, signal);
  }

  async #prepare(): Promise<void> {
    const { containerd, runtime } = this.#world;
    const target = { images: runtime, ctr: containerd.tools.ctr, socket: containerd.paths.socket };
    const signal = AbortSignal.timeout(PREPARE_TIMEOUT_MS);
    this.#registry = await LocalRegistry.start(await agnhost.build());
    await ensureImages(target, recordedImages, signal);
    for (const { name } of recordedImages) await this.#unpack(name, signal);
    const profiles = `${this.folders.data}/seccomp`;
    await mkdir(profiles, { recursive: true });
    await writeFile(`${profiles}/p.json`, JSON.stringify({ defaultAction: "SCMP_ACT_ALLOW" }));
  }
}
