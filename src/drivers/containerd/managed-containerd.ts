import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Backoff } from "../../lib/backoff.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { SetupError } from "../../lib/setup-error.ts";
import { sleep } from "../../lib/timers.ts";
import { hasCapability, type Machine } from "../../model/machine.ts";
import { socketPathProblem } from "../../model/runtime-endpoint.ts";
import type { Log } from "../../ports/log.ts";
import {
  type CniOptions,
  cniConfig,
  configuredSnapshotter,
  containerdConfig,
  type NetworkSettings,
  type Snapshotter,
} from "./containerd-config.ts";
import { type ContainerdPaths, containerdPaths } from "./containerd-paths.ts";
import {
  boundLog,
  type ContainerdProcess,
  endContainerd,
  findContainerd,
  spawnContainerd,
  waitForSocket,
} from "./containerd-process.ts";
import { ensureNetworkRules } from "./network-rules.ts";
import {
  type ContainerdTools,
  canMountOverlay,
  checkNetwork,
  requireTools,
} from "./prepare-machine.ts";
import { removeOrphanCgroups, removeOrphans } from "./remove-orphans.ts";
import { removeContainerdTraces } from "./remove-traces.ts";

const BACKOFF_LIMITS = { initialMs: 100, maxMs: 5_000 };
// A run this long counts as healthy: the next failure starts again with the first backoff.
const HEALTHY_MS = 10_000;
const START_TIMEOUT_MS = 30_000;
// One that is there may be busy, but not for long.
const ADOPT_TIMEOUT_MS = 10_000;
const LOOK_AFTER_MS = 60_000;
// What is being ended when containerd is killed becomes an orphan only when its end was tried again.
const LATER_TIDY_UPS = 2;

export interface ManagedContainerdOptions {
  /** Locked by the caller; absolute, without links. */
  readonly dataDir: string;
  readonly bridge: string;
  /** The IPv4 network of the pods. */
  readonly subnet: string;
  readonly sandboxImage: string;
  readonly cgroupDriver: "cgroupfs" | "systemd";
  /** Below it lie the cgroups of its pods and of no other; undefined = unknown. */
  readonly cgroupRoot?: string | undefined;
}

/** What the options default to. */
export const MANAGED_CONTAINERD_DEFAULTS: Omit<ManagedContainerdOptions, "dataDir"> = {
  bridge: "berth0",
  subnet: "10.88.0.0/16",
  sandboxImage: "registry.k8s.io/pause:3.10",
  cgroupDriver: "cgroupfs",
};

/**
 * A containerd that Berth owns: root, state, socket and network are private to the data folder. It outlives
 * the agent, so that a killed agent leaves the pods running; the next one finds and adopts it.
 */
export class ManagedContainerd {
  readonly paths: ContainerdPaths;
  readonly tools: ContainerdTools;
  readonly #options: ManagedContainerdOptions;
  readonly #log: Log;
  readonly #supervision: AbortController;
  #process: ContainerdProcess;
  #supervisor: Promise<unknown> = Promise.resolve();
  #laterTidyUps = LATER_TIDY_UPS;

  private constructor(
    prepared: Prepared,
    options: ManagedContainerdOptions,
    running: Running,
    log: Log,
  ) {
    this.paths = prepared.paths;
    this.tools = prepared.tools;
    this.#options = options;
    this.#process = running.process;
    this.#supervision = running.supervision;
    this.#log = log;
  }

  /** Adopts or starts containerd and keeps it running; resolves when its socket takes connections. */
  static async start(
    options: ManagedContainerdOptions,
    machine: Machine,
    log: Log,
    signal: AbortSignal,
  ): Promise<ManagedContainerd> {
    const prepared = await prepare(options, machine);
    const { paths, tools } = prepared;
    const supervision = new AbortController();
    const adopted = await adopt(prepared, log, supervision.signal);
    const first = adopted ?? (await spawnContainerd(tools.containerd, paths));
    log.info(adopted === undefined ? "started containerd" : "adopted the running containerd", {
      pid: first.pid,
      socket: paths.socket,
    });
    try {
      await waitForSocket(first, paths, START_TIMEOUT_MS, signal);
      await ensureNetworkRules(options, tools);
    } catch (error) {
      supervision.abort();
      if (adopted === undefined) await endContainerd(first.pid, paths.configFile);
      throw error;
    }
    const running = { process: first, supervision };
    const managed = new ManagedContainerd(prepared, options, running, log);
    managed.#supervisor = Promise.all([managed.#supervise(), managed.#removeOrphans()]);
    return managed;
  }

  get endpoint(): string {
    return `unix://${this.paths.socket}`;
  }

  /** Changes when containerd had to be restarted. */
  get pid(): number {
    return this.#process.pid;
  }

  /** Lets go of containerd without ending it. */
  async detach(): Promise<void> {
    this.#supervision.abort();
    await this.#supervisor;
  }

  /** Ends containerd; containers run on. */
  async stop(): Promise<void> {
    await this.detach();
    await endContainerd(this.#process.pid, this.paths.configFile);
  }

  /** Ends containerd and removes every process, mount, cgroup, interface, rule and file of its containers. */
  async teardown(): Promise<void> {
    await this.stop();
    await removeContainerdTraces(this.paths, this.tools, this.#options);
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#supervision;
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    let look = Promise.resolve();
    const lookAfter = setInterval(() => {
      look = look
        .then(() => this.#lookAfter())
        .catch((error: unknown) => this.#log.warn("cannot look after containerd", { error }));
    }, LOOK_AFTER_MS).unref();
    const backoff = new Backoff(BACKOFF_LIMITS);
    while (!signal.aborted) {
      const startedAtMs = Date.now();
      await Promise.race([this.#process.exited, stopped]);
      if (signal.aborted) break;
      if (Date.now() - startedAtMs > HEALTHY_MS) backoff.reset();
      const backoffMs = backoff.nextMs();
      this.#log.warn("containerd ended, starting it again", { pid: this.pid, backoffMs });
      await Promise.race([sleep(backoffMs, undefined, { keepsAlive: false }), stopped]);
      if (!signal.aborted) await this.#restart();
    }
    clearInterval(lookAfter);
    await look;
  }

  async #lookAfter(): Promise<void> {
    if (this.#supervision.signal.aborted) return;
    await boundLog(this.paths.logFile);
    await this.#restoreNetworkRules();
    if (this.#laterTidyUps === 0) return;
    this.#laterTidyUps -= 1;
    await this.#removeOrphans();
    await this.#removeOrphanCgroups();
  }

  /** A flush of the packet filter removes these rules, too. */
  async #restoreNetworkRules(): Promise<void> {
    try {
      const added = await ensureNetworkRules(this.#options, this.tools);
      if (added === 0) return;
      this.#log.warn("restored packet filter rules that were removed by another program", {
        count: added,
      });
    } catch (error) {
      this.#log.warn("cannot look after the rules of the pods' network", { error });
    }
  }

  async #restart(): Promise<void> {
    const { signal } = this.#supervision;
    try {
      this.#process =
        (await findContainerd(this.paths.configFile, signal)) ??
        (await spawnContainerd(this.tools.containerd, this.paths));
      this.#log.info("started containerd", { pid: this.pid, socket: this.paths.socket });
      this.#laterTidyUps = LATER_TIDY_UPS;
      await waitForSocket(this.#process, this.paths, START_TIMEOUT_MS, signal);
      await this.#removeOrphans();
    } catch (error) {
      if (!signal.aborted) this.#log.error("cannot start containerd", { error });
    }
  }

  #removeOrphans(): Promise<void> {
    const { pid, paths, tools } = this;
    return this.#reportRemoved(removeOrphans({ pid, paths, tools, network: this.#options }));
  }

  async #removeOrphanCgroups(): Promise<void> {
    const { cgroupRoot } = this.#options;
    if (cgroupRoot === undefined) return;
    await this.#reportRemoved(removeOrphanCgroups(this.paths, cgroupRoot));
  }

  async #reportRemoved(removal: Promise<readonly string[]>): Promise<void> {
    try {
      for (const what of await removal) {
        this.#log.warn("removed what a killed containerd had begun", { what });
      }
    } catch (error) {
      this.#log.warn("cannot remove what a killed containerd had begun", { error });
    }
  }
}

/** The containerd that an earlier agent left, if it answers and runs with today's configuration; else it is ended. */
async function adopt(
  { paths, configChanged }: Prepared,
  log: Log,
  watch: AbortSignal,
): Promise<ContainerdProcess | undefined> {
  const found = await findContainerd(paths.configFile, watch);
  if (found === undefined) return undefined;
  if (!configChanged) {
    try {
      await waitForSocket(found, paths, ADOPT_TIMEOUT_MS, watch);
      return found;
    } catch (error) {
      log.warn("the running containerd does not answer", { pid: found.pid, error });
    }
  }
  log.info("restarting the running containerd", { pid: found.pid, configChanged });
  await endContainerd(found.pid, paths.configFile);
  return undefined;
}

/** Removes what a managed containerd of this data folder left, whether or not one still runs. */
export async function teardownDataDir(
  options: ManagedContainerdOptions,
  machine: Machine,
  signal: AbortSignal,
): Promise<void> {
  const paths = containerdPaths(options.dataDir);
  const found = await findContainerd(paths.configFile, signal);
  if (found !== undefined) await endContainerd(found.pid, paths.configFile);
  const network = (await readNetwork(paths)) ?? options;
  await removeContainerdTraces(paths, requireTools(machine), network);
}

interface Running {
  readonly process: ContainerdProcess;
  readonly supervision: AbortController;
}

interface Prepared {
  readonly paths: ContainerdPaths;
  readonly tools: ContainerdTools;
  readonly configChanged: boolean;
}

async function prepare(options: ManagedContainerdOptions, machine: Machine): Promise<Prepared> {
  const tools = requireTools(machine);
  const paths = containerdPaths(options.dataDir);
  const problem = socketPathProblem(paths.socket);
  if (problem !== undefined) throw new SetupError(problem, "choose a shorter data folder");
  await prepareNetwork(options, paths, {
    ipamFolder: paths.ipamFolder,
    mtu: machine.uplink?.mtu,
    limitsBandwidth: existsSync(join(tools.cniFolder, "bandwidth")),
  });
  const before = await readFile(paths.configFile, "utf8").catch(() => "");
  const config = containerdConfig({
    paths,
    runc: tools.runc,
    cniPluginFolder: tools.cniFolder,
    sandboxImage: options.sandboxImage,
    snapshotter: configuredSnapshotter(before) ?? (await chooseSnapshotter(paths, tools)),
    cgroupDriver: options.cgroupDriver,
    mayLowerOomScore: hasCapability(machine, "CAP_SYS_RESOURCE"),
  });
  if (before !== config) await writeFile(paths.configFile, config, { mode: 0o600 });
  return { paths, tools, configChanged: before !== config };
}

async function chooseSnapshotter(
  paths: ContainerdPaths,
  tools: ContainerdTools,
): Promise<Snapshotter> {
  return (await canMountOverlay(paths.base, tools)) ? "overlayfs" : "native";
}

async function prepareNetwork(
  { bridge, subnet }: NetworkSettings,
  paths: ContainerdPaths,
  cni: CniOptions,
): Promise<void> {
  const made = await readNetwork(paths);
  if (made !== undefined && (made.bridge !== bridge || made.subnet !== subnet)) {
    throw new SetupError(
      `the data folder was made for the network ${made.bridge} ${made.subnet}, not ${bridge} ${subnet}`,
      "keep that network, or reset the data folder",
    );
  }
  await checkNetwork({ bridge, subnet }, made !== undefined);
  await mkdir(paths.cniConfigFolder, { recursive: true, mode: 0o750 });
  await writeFile(paths.cniConfigFile, cniConfig({ bridge, subnet }, cni));
  await writeFile(paths.networkFile, `${JSON.stringify({ bridge, subnet })}\n`);
}

async function readNetwork(paths: ContainerdPaths): Promise<NetworkSettings | undefined> {
  const text = await readFile(paths.networkFile, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const value: unknown = parseJsonText(text);
  if (typeof value !== "object" || value === null) return undefined;
  const { bridge, subnet } = value as Partial<NetworkSettings>;
  return bridge === undefined || subnet === undefined ? undefined : { bridge, subnet };
}
