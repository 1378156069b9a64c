// A node as kubeadm makes it, on a machine of its own (node-machine.ts): kubeadm-node.ts init|join REQUEST-AS-JSON
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Node, Pod } from "../../../src/model/generated/kubernetes.ts";
import { buildProgram } from "../../integration/support/agent-process.ts";
import { BUSYBOX } from "../../integration/support/busybox.ts";
import { type RuntimeWorld, startRuntimeWorld } from "../../integration/support/runtime-world.ts";
import { makeTestFolder } from "../../integration/support/test-folder.ts";
import type { NodeAgent } from "./cluster-node.ts";
import { clusterProgram } from "./cluster-programs.ts";
import { provideControlPlane } from "./control-plane-images.ts";
import { initConfig, joinConfig } from "./kubeadm-configs.ts";
import { makeNodeCgroup } from "./node-cgroups.ts";
import { ownNodeFolders, systemdPrograms } from "./node-machine.ts";

export interface KubeadmRequest {
  readonly agent: NodeAgent;
  /** The numbers of the networks of the first and of the second node. */
  readonly networks: readonly [number, number];
  readonly resultFile: string;
}

/** What was seen. */
export interface KubeadmResult {
  readonly nodes: readonly Node[];
  readonly staticPods: readonly Pod[];
  /** The same pods after the agent was restarted and has started another one. */
  readonly staticPodsLater: readonly Pod[];
  /** The kubeconfig that the second node has made of its token. */
  readonly joinedKubeconfig: string;
}

const root = join(import.meta.dirname, "../../..");
const adminKubeconfig = "/etc/kubernetes/admin.conf";
const timeout = "--timeout=180s";

const [role, text] = process.argv.slice(2) as ["init" | "join", string];
const request = JSON.parse(text) as KubeadmRequest;

async function runFirstNode(): Promise<void> {
  const [network, secondNetwork] = request.networks;
  const node = await KubeadmNode.start("control-a", network);
  try {
    await provideControlPlane(node.world);
    node.kubeadm("init", initConfig(node.name, network, node.world.containerd.endpoint), {
      cgroupRoot: node.world.cgroupRoot,
    });
    const pods = ["pod", "--namespace=kube-system", "--selector=tier=control-plane"];
    waitReady("node/control-a");
    kubectl("wait", "--for=condition=Ready", timeout, ...pods);
    const staticPods = list(...pods) as readonly Pod[];
    node.restartAgent();
    addStaticPod();
    waitReady("pod/late-control-a");
    const staticPodsLater = list(...pods) as readonly Pod[];
    const joinedKubeconfig = runOnSecondMachine(secondNetwork);
    const nodes = list("node") as readonly Node[];
    const result: KubeadmResult = { nodes, staticPods, staticPodsLater, joinedKubeconfig };
    writeFileSync(request.resultFile, JSON.stringify(result));
  } finally {
    await node.close();
  }
}

/** It shares the first node's network, and has folders of its own; prints its kubeconfig. */
function runOnSecondMachine(network: number): string {
  const folder = makeTestFolder("second");
  const admin = join(folder, "admin.conf");
  writeFileSync(admin, readFileSync(adminKubeconfig));
  const setup = [
    "set -e",
    "mount --make-rprivate /",
    ...ownNodeFolders(folder),
    "mount --make-rshared /",
    `cp ${admin} ${adminKubeconfig}`,
    'exec "$@"',
  ];
  const program = [join(root, "tools/run.mjs"), join(root, "test/cluster/support/kubeadm-node.ts")];
  const own = { ...request, networks: [network, network] };
  const command = [process.execPath, ...program, "join", JSON.stringify(own)];
  const flags = ["--mount", "sh", "-c", setup.join("\n"), "sh", ...command];
  return execFileSync("unshare", flags, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

async function runSecondNode(): Promise<void> {
  const [network] = request.networks;
  const node = await KubeadmNode.start("worker-b", network);
  try {
    node.kubeadm("join", joinConfig(node.name, adminServer(), node.world.containerd.endpoint), {
      cgroupRoot: node.world.cgroupRoot,
      // Those of the first node are taken.
      port: 10_350,
      healthzPort: 10_348,
    });
    waitReady("node/worker-b");
    process.stdout.write(readFileSync("/etc/kubernetes/kubelet.conf", "utf8"));
  } finally {
    await node.close();
  }
}

class KubeadmNode {
  readonly name: string;
  readonly world: RuntimeWorld;
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(name: string, world: RuntimeWorld, folder: string) {
    this.name = name;
    this.world = world;
    this.#folder = folder;
    this.#environment = {
      ...process.env,
      PATH: `${systemdPrograms}:${process.env["PATH"]}`,
      UNIT_FOLDER: folder,
    };
  }

  static async start(name: string, network: number): Promise<KubeadmNode> {
    const folder = join(makeTestFolder("kubeadm"), "units");
    mkdirSync(folder);
    const script = kubeletService(request.agent, join(folder, "kubelet.log"));
    writeFileSync(join(folder, "kubelet.service"), script, { mode: 0o755 });
    const world = await startRuntimeWorld({ network });
    makeNodeCgroup(world.cgroupRoot);
    return new KubeadmNode(name, world, folder);
  }

  kubeadm(command: "init" | "join", config: string, patch: object): void {
    const file = join(this.#folder, "kubeadm.yaml");
    const patches = join(this.#folder, "patches");
    mkdirSync(patches);
    writeFileSync(join(patches, "kubeletconfiguration+merge.json"), JSON.stringify(patch));
    writeFileSync(file, config.replaceAll("PATCHES", patches));
    try {
      const flags = [command, `--config=${file}`];
      const env = this.#environment;
      execFileSync(clusterProgram("kubeadm"), flags, { env, encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      throw new Error(`kubeadm ${command} failed; the agent said:\n${this.#lastWords()}`, {
        cause: error,
      });
    }
  }

  restartAgent(): void {
    this.#systemctl("restart");
  }

  async close(): Promise<void> {
    this.#systemctl("stop");
    const { runtime } = this.world;
    for (const { id = "" } of await runtime.listPodSandboxes({}, AbortSignal.timeout(60_000))) {
      await this.world.removePod(id);
    }
    await this.world.close();
  }

  #systemctl(command: string): void {
    execFileSync("systemctl", [command, "kubelet"], { env: this.#environment, stdio: "ignore" });
  }

  #lastWords(): string {
    return readFileSync(join(this.#folder, "kubelet.log"), "utf8").slice(-4_000);
  }
}

/** The service that the packages of kubeadm bring (10-kubeadm.conf), with what Berth's own drop-in makes of it. */
function kubeletService(agent: NodeAgent, log: string): string {
  const dropIn = join(root, "packaging/systemd/kubelet.service.d/20-berth.conf");
  const start = /^ExecStart=(\/.*)$/m.exec(readFileSync(dropIn, "utf8"))?.[1] ?? "";
  buildProgram();
  const berth = `${process.execPath} ${join(root, "dist/berth.js")} kubelet`;
  const program = agent === "berth" ? berth : clusterProgram("kubelet");
  const command = start.replace("/usr/local/bin/berth kubelet", program);
  return `#!/bin/sh
KUBELET_KUBECONFIG_ARGS="--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
KUBELET_CONFIG_ARGS="--config=/var/lib/kubelet/config.yaml"
if [ -e /var/lib/kubelet/kubeadm-flags.env ]; then . /var/lib/kubelet/kubeadm-flags.env; fi
exec ${command} >>'${log}' 2>&1 </dev/null
`;
}

function addStaticPod(): void {
  const imagePullPolicy = "IfNotPresent";
  const containers = [
    { name: "main", image: BUSYBOX, imagePullPolicy, command: ["sleep", "infinity"] },
  ];
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "late" }, spec: { containers } };
  writeFileSync("/etc/kubernetes/manifests/late.yaml", JSON.stringify(pod));
}

/** It need not be there yet. */
function waitReady(what: string): void {
  for (const condition of ["create", "condition=Ready"]) {
    kubectl("wait", `--for=${condition}`, timeout, what);
  }
}

function kubectl(...args: readonly string[]): string {
  const flags = [`--kubeconfig=${adminKubeconfig}`, ...args];
  return execFileSync(clusterProgram("kubectl"), flags, { encoding: "utf8" });
}

function list(...what: readonly string[]): unknown {
  return (JSON.parse(kubectl("get", ...what, "--output=json")) as { items: unknown }).items;
}

function adminServer(): string {
  return /server: https:\/\/(\S+)/.exec(readFileSync(adminKubeconfig, "utf8"))?.[1] ?? "";
}

await (role === "init" ? runFirstNode() : runSecondNode());
