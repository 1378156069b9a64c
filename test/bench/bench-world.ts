import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type CriRuntime, createCriRuntime } from "../../src/drivers/cri/cri-runtime.ts";
import { isNotFound } from "../../src/model/runtime-error.ts";
import { claimClusterAddress } from "../cluster/support/cluster-address.ts";
import type { ClusterApi } from "../cluster/support/cluster-api.ts";
import { ControlPlane } from "../cluster/support/control-plane.ts";
import { makeNodeCgroup } from "../cluster/support/node-cgroups.ts";
import { removeCgroups } from "../integration/support/leftovers.ts";
import { startRuntimeWorld } from "../integration/support/runtime-world.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";
import { bareCgroup } from "./bare-configs.ts";
import { benchNode } from "./bench-settings.ts";
import { inParallel } from "./floor.ts";
import { connectCluster } from "./given-cluster.ts";
import type { BenchOptions } from "./options.ts";
import { untilAtRest } from "./runtime-rest.ts";
import { RuntimeWatch } from "./runtime-watch.ts";

const callTimeoutMs = 120_000;
const removalsAtOnce = 4;

export interface BenchCluster {
  readonly api: ClusterApi;
  /** What the agents join with. */
  readonly nodeKubeconfig: string;
  readonly adminKubeconfig: string;
  /** Undefined = the agent finds its address by itself. */
  readonly nodeIp: string | undefined;
}

/** The machine on which all contenders run one after the other. */
export interface BenchWorld {
  readonly folder: string;
  readonly endpoint: string;
  readonly runtime: CriRuntime;
  readonly cgroupRoot: string;
  readonly watch: RuntimeWatch;
  /** Undefined = pods come from manifests only. */
  readonly cluster: BenchCluster | undefined;
  close(): Promise<void>;
}

/** A world on what is given; containerd and control plane are started where nothing is. */
export async function openWorld(options: BenchOptions): Promise<BenchWorld> {
  const closers: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const step of closers.toReversed()) await step();
  };
  try {
    const plane = await openCluster(options, closers);
    const { endpoint, cgroupRoot } = await openRuntime(options, plane?.network, closers);
    const runtime = createCriRuntime(endpoint);
    closers.push(() => runtime.close());
    const watch = await RuntimeWatch.start(runtime);
    closers.push(() => watch.close());
    const folder = options.dataDir ?? makeTestFolder("bench");
    mkdirSync(folder, { recursive: true });
    makeNodeCgroup(cgroupRoot);
    const world = { folder, endpoint, runtime, cgroupRoot, watch, cluster: plane?.cluster, close };
    closers.push(async () => {
      await sweep(world);
      if (options.dataDir === undefined) await rm(folder, { recursive: true, force: true });
    });
    return world;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Removes all pods from the runtime, and what agents have mounted; resolves when the runtime is at rest. */
export async function sweep(world: BenchWorld): Promise<void> {
  const { runtime, folder, endpoint } = world;
  const signal = AbortSignal.timeout(callTimeoutMs);
  const sandboxes = await runtime.listPodSandboxes({}, signal);
  await inParallel(sandboxes, removalsAtOnce, async ({ id = "" }) => {
    try {
      await runtime.stopPodSandbox(id, signal);
      await runtime.removePodSandbox(id, signal);
    } catch (error) {
      // The last call of an agent that has ended may be carried out only now.
      if (!isNotFound(error)) throw error;
    }
  });
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.toReversed()) execFileSync("umount", [path]);
  removeCgroups(bareCgroup(world));
  await untilAtRest(endpoint);
}

type Closers = (() => Promise<void> | void)[];

async function openCluster(
  { kubeconfig, standalone }: BenchOptions,
  closers: Closers,
): Promise<{ readonly cluster: BenchCluster; readonly network?: number } | undefined> {
  if (standalone) return undefined;
  if (kubeconfig !== undefined) {
    const api = connectCluster(kubeconfig);
    closers.push(() => api.close());
    const files = { nodeKubeconfig: kubeconfig, adminKubeconfig: kubeconfig };
    return { cluster: { api, ...files, nodeIp: undefined } };
  }
  const plane = await ControlPlane.start();
  closers.push(() => plane.stop());
  const nodeKubeconfig = plane.nodeKubeconfig(benchNode);
  const cluster = {
    api: plane.api,
    nodeKubeconfig,
    adminKubeconfig: plane.kubeconfig,
    nodeIp: plane.address,
  };
  return { cluster, network: plane.network };
}

async function openRuntime(
  { runtimeEndpoint }: BenchOptions,
  network: number | undefined,
  closers: Closers,
): Promise<{ readonly endpoint: string; readonly cgroupRoot: string }> {
  if (runtimeEndpoint !== undefined)
    return { endpoint: runtimeEndpoint, cgroupRoot: "/berth-bench" };
  const own = network ?? (await claimNetwork(closers));
  const world = await startRuntimeWorld({ network: own });
  closers.push(() => world.close());
  return { endpoint: world.containerd.endpoint, cgroupRoot: world.cgroupRoot };
}

async function claimNetwork(closers: Closers): Promise<number> {
  const claim = await claimClusterAddress();
  closers.push(() => claim.release());
  return claim.network;
}
