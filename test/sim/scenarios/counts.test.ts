// What others count by.
import { expect, test } from "vitest";
import type { Simulation } from "../simulator/simulation.ts";
import { create, pass, plainContainer, plainPod, quietCluster } from "./scenario.ts";

test("restart counts continue though the API server never received them and the runtime forgot them", async () => {
  const { sim, cluster } = quietCluster();
  const initContainers = [plainContainer("first", { command: ["exit", "1"] })];
  create(sim, cluster, plainPod("web", {}, { initContainers }));
  await pass(sim, 300);
  cluster.isDown = true;
  await pass(sim, 30_000);
  // A new sandbox begins with its init containers again, once the back-off of the old ones is over.
  sim.machine.runtime.crashSandbox();
  await pass(sim, 20_000);
  const before = restartsOf(sim);
  expect(before).toBeGreaterThan(2);
  sim.killAgent("before the API server is back", 500);
  cluster.isDown = false;
  // That the count does not fall is held at every step.
  await pass(sim, 5_000);
  expect(restartsOf(sim)).toBeGreaterThanOrEqual(before);
});

function restartsOf(sim: Simulation): number {
  const pod = sim.shownPods().find(({ metadata }) => metadata.name === "web");
  return pod?.status?.initContainerStatuses?.[0]?.restartCount ?? 0;
}
