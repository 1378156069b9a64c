import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentClient } from "../../../src/cli/agent-client.ts";
import { ensureImages, pauseImage } from "../../../src/drivers/containerd/local-images.ts";
import { MANAGED_CONTAINERD_DEFAULTS } from "../../../src/drivers/containerd/managed-containerd.ts";
import { type CriRuntime, createCriRuntime } from "../../../src/drivers/cri/cri-runtime.ts";
import { waitForRuntime } from "../../../src/drivers/cri/wait-for-runtime.ts";
import { readMachine } from "../../../src/drivers/linux/read-machine.ts";
import type { PodSpec } from "../../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { busyboxImage } from "../../../tools/images/busybox-image.ts";
import { podManifest } from "../../integration/support/agent-manifests.ts";
import { BerthProcess, buildProgram } from "../../integration/support/agent-process.ts";
import { isReady, waitForPod, waitUntilGone } from "../../integration/support/agent-watch.ts";
import { removeFolder } from "../../integration/support/remove-folder.ts";
import { makeTestFolder } from "../../integration/support/test-folder.ts";

const socket = "/run/containerd/containerd.sock";
const endpoint = `unix://${socket}`;
const nodeName = "node";
const waitMs = 120_000;

/** `berth kubelet` without a cluster on the machine's own containerd, cgroups and service manager, as a kubelet has them. */
export class MachineNode {
  readonly folder: string;
  readonly client: AgentClient;
  readonly runtime: CriRuntime;
  #agent: BerthProcess | undefined;

  private constructor(folder: string) {
    this.folder = folder;
    this.client = new AgentClient(join(folder, "root/berth.sock"));
    this.runtime = createCriRuntime(endpoint);
  }

  /** A node whose agent is not started yet. */
  static async create(): Promise<MachineNode> {
    buildProgram();
    const node = new MachineNode(makeTestFolder("machine"));
    mkdirSync(join(node.folder, "manifests"));
    writeFileSync(join(node.folder, "resolv.conf"), "nameserver 10.1.2.3\n");
    try {
      await node.#importImages();
    } catch (error) {
      await node.close();
      throw error;
    }
    return node;
  }

  /** A node with a running agent; `config` are fields of its KubeletConfiguration. */
  static async start(config: object = {}): Promise<MachineNode> {
    const node = await MachineNode.create();
    try {
      await node.startAgent(config);
    } catch (error) {
      await node.close();
      throw error;
    }
    return node;
  }

  get agent(): BerthProcess {
    if (this.#agent === undefined) throw new Error("no agent was started");
    return this.#agent;
  }

  /** The command of the agent with this configuration. */
  agentArguments(config: object = {}): readonly string[] {
    const whole = {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodPath: "manifests",
      podLogsDir: "logs",
      resolvConf: "resolv.conf",
      containerRuntimeEndpoint: endpoint,
      cgroupDriver: "systemd",
      failSwapOn: false,
      enableServer: false,
      healthzPort: 0,
      evictionHard: {},
      ...config,
    };
    const file = join(this.folder, "kubelet.yaml");
    writeFileSync(file, JSON.stringify(whole));
    return [
      "kubelet",
      `--config=${file}`,
      `--root-dir=${join(this.folder, "root")}`,
      `--cert-dir=${join(this.folder, "pki")}`,
      `--hostname-override=${nodeName}`,
    ];
  }

  async startAgent(config: object = {}): Promise<void> {
    const agent = new BerthProcess(this.agentArguments(config));
    this.#agent = agent;
    await agent.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
  }

  write(name: string, spec: Partial<PodSpec> = {}): void {
    writeFileSync(this.#manifest(name), podManifest(name, spec));
  }

  /** Runs a pod; resolves when it is ready. */
  async run(name: string, spec: Partial<PodSpec> = {}): Promise<Pod> {
    this.write(name, spec);
    return await this.waitFor(name, isReady);
  }

  waitFor(name: string, isReached: (pod: Pod) => boolean): Promise<Pod> {
    return waitForPod(this.client, `${name}-${nodeName}`, isReached);
  }

  /** Resolves when nothing of the pod is left. */
  async remove(name: string, uid: string): Promise<void> {
    rmSync(this.#manifest(name));
    await waitUntilGone(this.client, uid);
  }

  /** The id of the pod's container that the runtime made last. */
  async containerId(pod: Pod, container = "main"): Promise<string> {
    const labelSelector = {
      "io.kubernetes.pod.uid": pod.metadata.uid,
      "io.kubernetes.container.name": container,
    };
    const found = await this.runtime.listContainers({ labelSelector }, timeout());
    const [newest] = found.toSorted((a, b) => Number((b.createdAt ?? 0n) - (a.createdAt ?? 0n)));
    if (newest?.id === undefined) throw new Error(`no container ${container}`);
    return newest.id;
  }

  /** What a command in the pod's container prints. */
  async printedBy(pod: Pod, command: readonly string[]): Promise<string> {
    const id = runtimeContainerId(await this.containerId(pod));
    const { stdout } = await this.runtime.execSync(id, command, waitMs / 1000, timeout());
    return Buffer.from(stdout ?? []).toString();
  }

  async readInfo(): Promise<Awaited<ReturnType<AgentClient["readInfo"]>>> {
    return await this.client.readInfo(timeout());
  }

  /** Ends the agent and removes every pod. */
  async close(): Promise<void> {
    if (this.#agent?.isRunning === true) await this.#agent.stop("SIGTERM");
    for (const { id = "" } of await this.runtime.listPodSandboxes({}, timeout())) {
      await this.runtime.stopPodSandbox(id, timeout());
      await this.runtime.removePodSandbox(id, timeout());
    }
    this.runtime.close();
    await removeFolder(this.folder);
  }

  #manifest(name: string): string {
    return join(this.folder, "manifests", `${name}.json`);
  }

  async #importImages(): Promise<void> {
    await waitForRuntime(this.runtime, waitMs, timeout());
    const target = { images: this.runtime, ctr: readMachine().tools.ctr ?? "ctr", socket };
    const pause = pauseImage(MANAGED_CONTAINERD_DEFAULTS.sandboxImage);
    await ensureImages(target, [pause, busyboxImage("latest")], timeout());
  }
}

function timeout(): AbortSignal {
  return AbortSignal.timeout(waitMs);
}
