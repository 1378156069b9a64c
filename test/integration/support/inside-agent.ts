import { setMaxListeners } from "node:events";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createAgent, type PodRules } from "../../../src/app/create-agent.ts";
import { dataLayout } from "../../../src/app/data-layout.ts";
import { createSources, parseSources } from "../../../src/app/manifest-sources.ts";
import type { Agent } from "../../../src/engine/agent.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { foreignFilesProgram } from "../../kit/foreign-files-program.ts";
import { noMetrics } from "../../kit/no-metrics.ts";
import { silentLog } from "../../kit/silent-log.ts";
import type { RuntimeWorld } from "./runtime-world.ts";

const nodeName = "node";
const timeoutMs = 90_000;
const pollMs = 100;

/** The agent inside the test's own process, for settings that no command has. */
export class InsideAgent {
  readonly agent: Agent;
  readonly #manifests: string;
  readonly #stop: AbortController;
  readonly #ended: Promise<void>;

  private constructor(agent: Agent, manifests: string, stop: AbortController) {
    this.agent = agent;
    this.#manifests = manifests;
    this.#stop = stop;
    this.#ended = agent.run();
  }

  static async start(
    { dataDir, cgroupRoot, runtime, containerd }: RuntimeWorld,
    rules: Partial<PodRules>,
  ): Promise<InsideAgent> {
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const layout = dataLayout(dataDir);
    mkdirSync(layout.manifests, { recursive: true });
    const agent = await createAgent(
      {
        place: { dataDir, nodeName, foreignFilesProgram: foreignFilesProgram(), cgroupRoot },
        runtime,
        runtimeEndpoint: containerd.endpoint,
        sources: createSources(parseSources({}), nodeName, layout),
        telemetry: { log: silentLog, metrics: noMetrics },
        rules,
      },
      stop.signal,
    );
    return new InsideAgent(agent, layout.manifests, stop);
  }

  /** Puts a manifest in place in one step. */
  write(name: string, manifest: string): void {
    const draft = join(this.#manifests, `.${name}.draft`);
    writeFileSync(draft, manifest);
    renameSync(draft, join(this.#manifests, `${name}.json`));
  }

  /** The pod of a manifest as soon as it is as wanted. */
  waitFor(name: string, isReached: (pod: Pod) => boolean): Promise<Pod> {
    const { view } = this.agent;
    const podName = `${name}-${nodeName}`;
    const signal = AbortSignal.timeout(timeoutMs);
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const pod = view.listPods().find(({ metadata }) => metadata.name === podName);
        if (pod !== undefined && isReached(pod)) resolve(pod);
      };
      signal.addEventListener("abort", () => reject(new Error(`${name} did not get as wanted`)));
      view.watchPods(look, signal);
      look();
    });
  }

  /** Ends all pods, then the agent. */
  async stop(): Promise<void> {
    for (const name of readdirSync(this.#manifests)) rmSync(join(this.#manifests, name));
    const signal = AbortSignal.timeout(timeoutMs);
    while (this.agent.view.listPods().length > 0 && !signal.aborted) await delay(pollMs);
    this.#stop.abort();
    await this.#ended;
  }
}
