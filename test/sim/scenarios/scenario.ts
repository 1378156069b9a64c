import { expect } from "vitest";
import type {
  Container,
  ContainerState,
  PodSpec,
} from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { ApiRequest } from "../../../src/ports/api-client.ts";
import type { ApiWorld } from "../simulator/api-world.ts";
import type { PodManifest } from "../simulator/random-pod.ts";
import { Simulation, type SimulationOptions } from "../simulator/simulation.ts";

/** A pod of one container that runs until it is stopped. */
export function plainPod(
  name: string,
  container: Partial<Container> = {},
  spec: Partial<PodSpec> = {},
): PodManifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [plainContainer("main", container)], ...spec },
  };
}

export function plainContainer(name: string, container: Partial<Container> = {}): Container {
  return { name, image: "app:1", command: ["serve"], ...container };
}

/** A node on which nothing goes wrong but what the test does. */
export function quietNode(options: SimulationOptions = {}): Simulation {
  const sim = new Simulation(1, options);
  sim.startAgent();
  return sim;
}

/** The same as part of a cluster. */
export function quietCluster(options: SimulationOptions = {}): {
  readonly sim: Simulation;
  readonly cluster: ApiWorld;
} {
  const sim = quietNode({ ...options, inCluster: true });
  if (sim.cluster === undefined) throw new Error("the node belongs to no cluster");
  return { sim, cluster: sim.cluster };
}

/** A pod that the cluster gives to the node. */
export function create(sim: Simulation, cluster: ApiWorld, manifest: PodManifest): Pod {
  const pod = cluster.create(manifest);
  sim.invariants.notePod(pod);
  return pod;
}

/** Asks the API server as another client would. */
export async function ask<T>(sim: Simulation, cluster: ApiWorld, request: ApiRequest): Promise<T> {
  const answer = cluster.client.send<T>(request, new AbortController().signal);
  await pass(sim, 100);
  return answer;
}

export function write(sim: Simulation, file: string, manifest: PodManifest): Pod {
  const pod = sim.manifests.write(file, manifest);
  sim.invariants.notePod(pod);
  return pod;
}

export function isReady(sim: Simulation, name: string): boolean {
  const pod = sim.shownPods().find(({ metadata }) => metadata.name.startsWith(name));
  return pod !== undefined && isReadyPod(pod);
}

export function isReadyPod({ status: { conditions = [] } = {} }: Pod): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** How the API server shows that container of a pod. */
export function stateInApi(cluster: ApiWorld, pod: string, container = "main"): ContainerState {
  const { containerStatuses = [] } = cluster.find(pod)?.status ?? {};
  return containerStatuses.find(({ name }) => name === container)?.state ?? {};
}

/** How often the runtime was asked that of a container. */
export function countCalls(sim: Simulation, method: string, name = "main"): number {
  return sim.machine.runtime.calls.filter((call) => call.method === method && call.name === name)
    .length;
}

/** Moves time on, and holds that no promise was broken on the way. */
export async function pass(sim: Simulation, ms: number): Promise<void> {
  await sim.advance(ms);
  expect(sim.violation?.message).toBeUndefined();
}
