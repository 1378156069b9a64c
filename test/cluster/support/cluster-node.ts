import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { RuntimeWorld } from "../../integration/support/runtime-world.ts";
import { clusterProgram } from "./cluster-programs.ts";
import type { ControlPlane } from "./control-plane.ts";
import { listPodCgroups, makeNodeCgroup } from "./node-cgroups.ts";
import { nodeConfig } from "./node-config.ts";
import { onPrivateNode } from "./private-node.ts";
import { ServerProcess } from "./server-process.ts";

/** Who runs the node: Kubernetes' own kubelet, or Berth. Both get the same flags and files. */
export type NodeAgent = "kubelet" | "berth";

/** The one under test. With Kubernetes' own, the tests show that they ask for what a kubelet does. */
export const testedAgent: NodeAgent =
  process.env["BERTH_CLUSTER_AGENT"] === "kubelet" ? "kubelet" : "berth";

const berth = join(import.meta.dirname, "../../../dist/berth.js");

interface ClusterNodeOptions {
  readonly name: string;
  readonly plane: ControlPlane;
  readonly world: RuntimeWorld;
  /** Fields of the kubelet's configuration that differ from the tests' usual ones. */
  readonly config?: object;
  readonly flags?: readonly string[];
  /** The agents see and make mounts where everybody does, and serve device plugins in this machine's own folder. */
  readonly hasMachinesMounts?: boolean | undefined;
}

/** A node on this machine: its folders and settings outlast the agents that run it one after the other. */
export class ClusterNode {
  readonly name: string;
  readonly folder: string;
  readonly rootDir: string;
  readonly manifests: string;
  readonly #flags: readonly string[];
  readonly #hasMachinesMounts: boolean;
  #agent: ServerProcess | undefined;
  #starts = 0;

  constructor(options: ClusterNodeOptions) {
    const { name, plane, world, config = {}, flags = [] } = options;
    this.name = name;
    this.#hasMachinesMounts = options.hasMachinesMounts === true;
    this.folder = join(plane.folder, name);
    this.rootDir = join(this.folder, "root");
    this.manifests = join(this.folder, "manifests");
    for (const folder of [this.folder, this.manifests]) mkdirSync(folder);
    makeNodeCgroup(world.cgroupRoot);
    const configFile = join(this.folder, "kubelet.yaml");
    const whole = { ...nodeConfig(this.folder, plane, world), ...config };
    writeFileSync(configFile, JSON.stringify(whole, null, 1));
    this.#flags = [
      `--config=${configFile}`,
      `--root-dir=${this.rootDir}`,
      `--cert-dir=${join(this.rootDir, "pki")}`,
      `--hostname-override=${name}`,
      `--node-ip=${plane.address}`,
      ...(flags.some((flag) => flag.startsWith("--kubeconfig="))
        ? []
        : [`--kubeconfig=${plane.nodeKubeconfig(name)}`]),
      ...flags,
    ];
  }

  get isRunning(): boolean {
    return this.#agent?.isRunning === true;
  }

  get pid(): number {
    return this.#agent?.pid ?? 0;
  }

  start(agent: NodeAgent): void {
    this.#starts += 1;
    const log = join(this.folder, `${agent}-${this.#starts}.log`);
    const own = command(agent);
    const program = this.#hasMachinesMounts ? own : onPrivateNode(this, own);
    this.#agent = new ServerProcess([...program, ...this.#flags], log);
  }

  /** Ends the agent; the pods stay. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.#agent?.stop(signal);
  }

  /** The end of what the agent said. */
  lastWords(): string {
    return this.#agent?.lastWords() ?? "";
  }

  /** What pods have left: their containers, folders, mounts and cgroups. */
  async findLeftovers(world: RuntimeWorld): Promise<readonly string[]> {
    const signal = AbortSignal.timeout(60_000);
    const sandboxes = await world.runtime.listPodSandboxes({}, signal);
    const containers = await world.runtime.listContainers({}, signal);
    return [
      ...sandboxes.map(({ metadata }) => `sandbox of ${metadata?.name}`),
      ...containers.map(
        ({ metadata, labels }) => `container ${JSON.stringify([metadata, labels])}`,
      ),
      ...names(join(this.rootDir, "pods")).map((name) => `folder of pod ${name}`),
      ...names(join(this.folder, "logs")).map((name) => `logs of ${name}`),
      ...this.#mounts(`${this.rootDir}/`).map((path) => `mount ${path}`),
      ...listPodCgroups(world.cgroupRoot).map((path) => `cgroup ${path}`),
    ];
  }

  /** Ends the agent and everything that runs on the node, and removes its folder. */
  async remove(world: RuntimeWorld): Promise<void> {
    await this.stop("SIGKILL");
    const sandboxes = await world.runtime.listPodSandboxes({}, AbortSignal.timeout(60_000));
    for (const { id = "" } of sandboxes) await world.removePod(id);
    for (const path of this.#mounts(`${this.folder}/`).toReversed()) execFileSync("umount", [path]);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The root folder may itself be a mount of the kubelet's. */
  #mounts(below: string): readonly string[] {
    return readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[4] ?? "")
      .filter((path) => path.startsWith(below));
  }
}

function command(agent: NodeAgent): readonly [string, ...string[]] {
  return agent === "kubelet" ? [clusterProgram("kubelet")] : [process.execPath, berth, "kubelet"];
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
