import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type {
  ContainerStatus,
  PodSpec,
  ResourceResourceClaim,
} from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import { DraDriver } from "../../integration/support/dra-driver.ts";
import { type NodeAgent, testedAgent } from "./cluster-node.ts";
import { createPod } from "./cluster-pods.ts";
import { clusterProgram } from "./cluster-programs.ts";
import { ClusterWorld } from "./cluster-world.ts";

const resources = "/apis/resource.k8s.io/v1";
export const slicesPath: string = `${resources}/resourceslices`;
export const resourceClaimsPath: string = `${resources}/namespaces/default/resourceclaims`;
/** Where runtimes look for CDI specs. */
const cdiFolder = "/var/run/cdi";

/** One request of a claim, or several that are tried in order. */
export type DeviceRequest = Readonly<Record<string, unknown>>;

/** A cluster whose node has a DRA driver with devices device-00 to device-03, and a runtime that knows CDI. */
export class DraWorld {
  readonly cluster: ClusterWorld;
  readonly driver: DraDriver;

  private constructor(cluster: ClusterWorld, driver: DraDriver) {
    this.cluster = cluster;
    this.driver = driver;
  }

  /** `config`: fields of the kubelet's configuration. */
  static async start(agent: NodeAgent = testedAgent, config: object = {}): Promise<DraWorld> {
    const cluster = await ClusterWorld.start(agent, {
      containerd: clusterProgram("containerd"),
      config,
    });
    try {
      const world = new DraWorld(cluster, await DraWorld.startDriver(cluster));
      await world.createClass(world.driver.name, world.driver);
      return world;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  static startDriver(
    { node, plane }: ClusterWorld,
    flags: readonly string[] = [],
  ): Promise<DraDriver> {
    return DraDriver.start({
      kubeletRoot: node.rootDir,
      kubeconfig: plane.kubeconfig,
      nodeName: node.name,
      cdiFolder,
      flags,
    });
  }

  /** Of all devices of a driver; `extendedResourceName` if they can be asked for as a resource. */
  async createClass(name: string, driver: DraDriver, spec: object = {}): Promise<void> {
    const expression = `device.driver == "${driver.name}"`;
    await this.cluster.api.create(`${resources}/deviceclasses`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata: { name },
      spec: { selectors: [{ cel: { expression } }], ...spec },
    });
  }

  /** What a claim asks for; without requests one device, as "device". */
  claimSpec(requests: readonly DeviceRequest[] = []): object {
    const one = { name: "device", exactly: { deviceClassName: this.driver.name } };
    return { devices: { requests: requests.length === 0 ? [one] : requests } };
  }

  async createClaim(name: string, ...requests: readonly DeviceRequest[]): Promise<void> {
    await this.cluster.api.create(resourceClaimsPath, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name },
      spec: this.claimSpec(requests),
    });
  }

  async createTemplate(name: string, ...requests: readonly DeviceRequest[]): Promise<void> {
    await this.cluster.api.create(`${resources}/namespaces/default/resourceclaimtemplates`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name },
      spec: { spec: this.claimSpec(requests) },
    });
  }

  /** A pod whose container has all of a claim, or of one that is made from a template. */
  createPod(name: string, claim: object, more: Partial<PodSpec> = {}): Promise<Pod> {
    return createPod(this.cluster.api, name, { spec: claimingSpec(claim, more) });
  }

  /** The claims of a pod's container, by the variables that their devices bring: CLAIM_REQUEST. */
  async devicesInside(pod: string, container = "main"): Promise<readonly string[]> {
    const args = ["exec", pod, "-c", container, "--", "env"];
    const lines = (await this.cluster.kubectl.run(...args)).split("\n");
    return lines.flatMap((line) => /^claim_(\w+)=true$/.exec(line)?.[1] ?? []).toSorted();
  }

  async claim(name: string): Promise<ResourceResourceClaim> {
    return await this.cluster.api.get(`${resourceClaimsPath}/${name}`);
  }

  /** The text of the file in which an agent keeps what is prepared. */
  checkpoint(): string {
    return readFileSync(join(this.cluster.node.rootDir, "dra_manager_state"), "utf8");
  }

  /** What the node's pod resources API says of a pod. */
  podResources(name: string): object {
    const socket = join(this.cluster.node.rootDir, "pod-resources/kubelet.sock");
    const args = ["--call=Get", "--namespace=default", `--name=${name}`, `--socket=${socket}`];
    const command = ["pod-resources", ...args];
    const text = execFileSync(clusterProgram("device-programs"), command, { encoding: "utf8" });
    return JSON.parse(text) as object;
  }

  /** The names of pods with a sandbox, whatever its state. */
  async sandboxes(): Promise<readonly string[]> {
    const found = await this.cluster.runtime.runtime.listPodSandboxes(
      {},
      AbortSignal.timeout(60_000),
    );
    return found.map(({ metadata }) => metadata?.name ?? "");
  }

  async close(): Promise<void> {
    await this.driver[Symbol.asyncDispose]();
    await this.cluster.close();
  }
}

export function claimingSpec(claim: object, more: Partial<PodSpec> = {}): Partial<PodSpec> {
  return {
    containers: [shell("main", untilStopped, { resources: { claims: [{ name: "device" }] } })],
    resourceClaims: [{ name: "device", ...claim }],
    ...more,
  };
}

/** What the first container's devices are said to be. */
export function allocatedResources({ status }: Pod): ContainerStatus["allocatedResourcesStatus"] {
  return status?.containerStatuses?.[0]?.allocatedResourcesStatus;
}
