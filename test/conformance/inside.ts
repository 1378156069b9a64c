// One run of specs with one agent, on the private machine that main.ts has made: inside.ts NETWORK RUN-AS-JSON
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterAddress } from "../cluster/support/cluster-address.ts";
import type { NodeAgent } from "../cluster/support/cluster-node.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { ClusterWorld } from "../cluster/support/cluster-world.ts";
import { makeNodeCgroup } from "../cluster/support/node-cgroups.ts";
import { startRuntimeWorld } from "../integration/support/runtime-world.ts";
import { makeTestFolder } from "../integration/support/test-folder.ts";
import { nodeSuiteFlags } from "./node-suite.ts";
import { runSpecs, type SpecResult } from "./run-specs.ts";
import { provideImages } from "./suite-images.ts";
import { type SuiteName, suites } from "./suites.ts";

/** What main.ts asks for. */
export interface AgentRun {
  readonly agent: NodeAgent;
  readonly suite: SuiteName;
  readonly focus: string;
  readonly processes: number;
  /** Takes the results. */
  readonly resultsFile: string;
}

const [network, text] = process.argv.slice(2) as [string, string];
const run = JSON.parse(text) as AgentRun;
const results = await (suites[run.suite].program === "e2e.test" ? runOnCluster() : runOnNode());
writeFileSync(run.resultsFile, JSON.stringify(results));

/** The specs are given a cluster. */
async function runOnCluster(): Promise<readonly SpecResult[]> {
  const world = await ClusterWorld.start(run.agent, { claim: ownAddress() });
  try {
    await provideImages(world.runtime);
    const { plane, node } = world;
    const flags = [
      `--kubeconfig=${plane.kubeconfig}`,
      "--provider=skeleton",
      `--kubectl-path=${clusterProgram("kubectl")}`,
      `--kubelet-root-dir=${node.rootDir}`,
      "--minStartupPods=0",
      "--dump-logs-on-failure=false",
    ];
    return await runSpecs({ ...run, suite: suites[run.suite], folder: suiteFolder(), flags });
  } finally {
    await world.close();
  }
}

/** The specs start API server and kubelet themselves, and stop and restart it. */
async function runOnNode(): Promise<readonly SpecResult[]> {
  // Debian 12's does not know CDI devices.
  const program = clusterProgram("containerd");
  const world = await startRuntimeWorld({ network: Number(network), program });
  const folder = suiteFolder();
  try {
    await provideImages(world);
    makeNodeCgroup(world.cgroupRoot);
    const settings = nodeSuiteFlags(run.agent, world, ownAddress().address, folder);
    return await runSpecs({ ...run, suite: suites[run.suite], folder, ...settings });
  } catch (error) {
    console.error(lastWords(join(folder, "reports/kubelet.log")));
    throw error;
  } finally {
    await world.close();
  }
}

/** No other run is on this machine, but cgroups, which all share, have the name of its network. */
function ownAddress(): ClusterAddress {
  const number = Number(network);
  return { network: number, address: `10.97.${number}.1`, release: async () => {} };
}

function lastWords(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8").slice(-4_000) : "";
}

function suiteFolder(): string {
  const folder = join(makeTestFolder("suite"), "work");
  mkdirSync(folder);
  return folder;
}
