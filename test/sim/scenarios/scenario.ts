import { expect } from "vitest";
import type { Container } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { PodManifest } from "../simulator/random-pod.ts";
import { Simulation, type SimulationOptions } from "../simulator/simulation.ts";

/** A pod of one container that runs until it is told to end. */
export function plainPod(name: string, container: Partial<Container> = {}): PodManifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "main", image: "app:1", command: ["serve"], ...container }] },
  };
}

/** A node on which nothing goes wrong but what the test does. */
export function quietNode(options: SimulationOptions = {}): Simulation {
  const sim = new Simulation(1, options);
  sim.startAgent();
  return sim;
}

export function write(sim: Simulation, file: string, manifest: PodManifest): Pod {
  const pod = sim.manifests.write(file, manifest);
  sim.invariants.notePod(pod);
  return pod;
}

export function isReady(sim: Simulation, name: string): boolean {
  const pod = sim.shownPods().find(({ metadata }) => metadata.name.startsWith(name));
  const { conditions = [] } = pod?.status ?? {};
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** Moves time on, and holds that no promise was broken on the way. */
export async function pass(sim: Simulation, ms: number): Promise<void> {
  await sim.advance(ms);
  expect(sim.violation?.message).toBeUndefined();
}
