import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AgentClient } from "../../../src/cli/agent-client.ts";
import { ensureImages } from "../../../src/drivers/containerd/local-images.ts";
import { MANAGED_CONTAINERD_DEFAULTS } from "../../../src/drivers/containerd/managed-containerd.ts";
import { type CriRuntime, createCriRuntime } from "../../../src/drivers/cri/cri-runtime.ts";
import { readMachine } from "../../../src/drivers/linux/read-machine.ts";
import { busyboxImage } from "../../../tools/images/busybox-image.ts";
import { BerthProcess, buildProgram, type Ended } from "./agent-process.ts";
import { cgroupFolder } from "./cgroup-folder.ts";
import { findLeftovers } from "./leftovers.ts";
import { makeTestFolder } from "./test-folder.ts";

const nodeName = "node";
const imagesTimeoutMs = 60_000;
const removalTimeoutMs = 120_000;
const pollMs = 100;
const podUidLabel = "io.kubernetes.pod.uid";
const containerNameLabel = "io.kubernetes.container.name";

/**
 * The agent as its users have it: a process with a folder of manifests and a data folder of its own. Tests
 * reach it by files, commands and its socket only; what it did is read from the runtime and the kernel.
 */
export class AgentWorld {
  readonly folder: string;
  readonly dataDir: string;
  readonly manifests: string;
  readonly bridge: string;
  readonly client: AgentClient;
  /** The test's own connection to the runtime. */
  readonly runtime: CriRuntime;
  readonly #flags: readonly string[];
  #agent: BerthProcess | undefined;

  private constructor(folder: string, network: number, endpoint: string | undefined) {
    this.folder = folder;
    this.dataDir = join(folder, "data");
    this.manifests = join(folder, "manifests");
    this.bridge = `berth-a${network}`;
    this.client = new AgentClient(join(this.dataDir, "berth.sock"));
    const flags = {
      filename: this.manifests,
      "data-dir": this.dataDir,
      "node-name": nodeName,
      bridge: this.bridge,
      subnet: `10.98.${network}.0/24`,
      "cgroup-root": `/${this.bridge}`,
      ...(endpoint === undefined ? {} : { "runtime-endpoint": endpoint }),
    };
    this.#flags = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    this.runtime = createCriRuntime(endpoint ?? `unix://${this.containerdSocket}`);
    mkdirSync(this.manifests);
  }

  /** A world with nothing running yet. Each test file has a network of its own: 0 to 254. */
  static async create(network: number, endpoint?: string): Promise<AgentWorld> {
    buildProgram();
    return new AgentWorld(makeTestFolder("agent"), network, endpoint);
  }

  /** A world with a running agent, whose containerd has the images of the tests. */
  static async start(network: number): Promise<AgentWorld> {
    const world = await AgentWorld.create(network);
    try {
      await world.up();
      await world.importImages();
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  get agent(): BerthProcess {
    if (this.#agent === undefined) throw new Error("no agent was started");
    return this.#agent;
  }

  get containerdSocket(): string {
    return join(this.dataDir, "containerd/containerd.sock");
  }

  /** Starts the agent; resolves when its API answers. */
  async up(...flags: readonly string[]): Promise<BerthProcess> {
    const agent = new BerthProcess(["up", ...this.#flags, ...flags]);
    this.#agent = agent;
    await agent.untilPrinted(({ stderr }) => stderr.includes("the agent is up"));
    return agent;
  }

  async importImages(): Promise<void> {
    const target = {
      images: this.runtime,
      ctr: readMachine().tools.ctr ?? "ctr",
      socket: this.containerdSocket,
    };
    const images = [busyboxImage("latest"), busyboxImage("1.36")];
    await ensureImages(target, images, AbortSignal.timeout(imagesTimeoutMs));
  }

  /** Runs a command to its end. */
  berth(...args: readonly string[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  /** Starts a command. */
  start(...args: readonly string[]): BerthProcess {
    const end = args.indexOf("--");
    const at = end < 0 ? args.length : end;
    return new BerthProcess([...args.slice(0, at), "--data-dir", this.dataDir, ...args.slice(at)]);
  }

  /** Puts a manifest in place in one step. */
  write(file: string, text: string): void {
    const draft = join(this.folder, `${file}.draft`);
    writeFileSync(draft, text);
    renameSync(draft, join(this.manifests, file));
  }

  remove(file: string): void {
    rmSync(join(this.manifests, file));
  }

  /** The name under which the pod of a manifest runs here. */
  podName(name: string): string {
    return `${name}-${nodeName}`;
  }

  /** Ids of the pod's containers by their names; of several runs of one, the one the runtime names first: the newest. */
  async containerIds(podUid: string): Promise<Readonly<Record<string, string>>> {
    const filter = { labelSelector: { [podUidLabel]: podUid } };
    const containers = await this.runtime.listContainers(filter, AbortSignal.timeout(60_000));
    const newest = containers.toSorted((a, b) => Number((a.createdAt ?? 0n) - (b.createdAt ?? 0n)));
    return Object.fromEntries(
      newest.map(({ labels, id = "" }) => [labels?.[containerNameLabel] ?? "", id]),
    );
  }

  /** Everything that the machine still has of a pod. */
  async tracesOf(podUid: string): Promise<readonly string[]> {
    const signal = AbortSignal.timeout(60_000);
    const filter = { labelSelector: { [podUidLabel]: podUid } };
    const containers = await this.runtime.listContainers(filter, signal);
    const sandboxes = await this.runtime.listPodSandboxes(filter, signal);
    return [
      ...containers.map(({ id }) => `container ${id}`),
      ...sandboxes.map(({ id }) => `sandbox ${id}`),
      ...this.podCgroups(podUid).map((path) => `cgroup ${path}`),
      ...namesWith(join(this.dataDir, "kubelet"), podUid).map((name) => `file ${name}`),
      ...namesWith(join(this.dataDir, "logs"), podUid).map((name) => `log ${name}`),
      ...readFileSync("/proc/self/mountinfo", "utf8")
        .split("\n")
        .filter((line) => line.includes(podUid))
        .map((line) => `mount ${line}`),
    ];
  }

  /** What of these pods the machine still has when there should have been time enough to remove it. */
  async tracesLeft(podUids: readonly string[]): Promise<readonly string[]> {
    const timeout = AbortSignal.timeout(removalTimeoutMs);
    for (;;) {
      // A runtime that does not answer may have something.
      const traces = await Promise.all(podUids.map((uid) => this.tracesOf(uid))).then(
        (lists) => lists.flat(),
        (error: unknown) => [String(error)],
      );
      if (traces.length === 0 || timeout.aborted) return traces;
      await delay(pollMs);
    }
  }

  /** The addresses that are given out in the pods' network. */
  addresses(): readonly string[] {
    const folder = join(this.dataDir, "containerd/ipam", this.bridge);
    return namesWith(folder, "").filter((name) => /^[0-9.]+$/.test(name));
  }

  podCgroups(podUid: string): readonly string[] {
    const root = cgroupFolder("pids", `/${this.bridge}`);
    return namesWith(root, `pod${podUid}`)
      .map((name) => join(root, name))
      .filter((path) => existsSync(join(path, "cgroup.procs")));
  }

  /** The first process of a container. */
  pidOf(podUid: string, containerId: string): number {
    const folder = this.podCgroups(podUid).find((path) => path.endsWith(containerId));
    if (folder === undefined) throw new Error(`container ${containerId} has no cgroup`);
    const pids = readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n");
    return Number(pids[0]);
  }

  /** The process that holds the pod's newest sandbox. */
  async sandboxPid(podUid: string): Promise<number> {
    const filter = { labelSelector: { [podUidLabel]: podUid } };
    const sandboxes = await this.runtime.listPodSandboxes(filter, AbortSignal.timeout(60_000));
    const newest = sandboxes.toSorted((a, b) => Number((b.createdAt ?? 0n) - (a.createdAt ?? 0n)));
    return this.pidOf(podUid, newest[0]?.id ?? "");
  }

  /** The process of the agent's own containerd. */
  containerdPid(): number {
    const config = join(this.dataDir, "containerd/config.toml");
    const pid = readdirSync("/proc").find((name) => /^\d+$/.test(name) && names(name, config));
    if (pid === undefined) throw new Error("containerd does not run");
    return Number(pid);
  }

  /** Removes everything, with the product's own command; throws when it left something. */
  async close(): Promise<void> {
    this.runtime.close();
    if (this.#agent?.isRunning === true) await this.#agent.stop("SIGTERM");
    const down = await this.berth("down");
    const left = findLeftovers({
      ...MANAGED_CONTAINERD_DEFAULTS,
      dataDir: this.dataDir,
      bridge: this.bridge,
    });
    await rm(this.folder, { recursive: true, force: true });
    if (down.code !== 0) throw new Error(`berth down failed: ${down.stderr}`);
    if (left.length > 0)
      throw new Error(`left on the machine:\n${left.join("\n")}\n${down.stderr}`);
  }
}

function names(pid: string, text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
  } catch {
    return false;
  }
}

/** Paths below a folder that contain a text; none when there is no such folder. */
function namesWith(folder: string, text: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.includes(text),
    );
  } catch {
    return [];
  }
}
