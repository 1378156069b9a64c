// Races of static pods that kubelets have lost.
import { expect, test } from "vitest";
import { pass, plainPod, quietNode, write } from "./scenario.ts";

test("an edited static pod starts again though the agent restarts meanwhile (kubernetes #109596)", async () => {
  const sim = quietNode();
  write(sim, "web", plainPod("web", { command: ["serve", "8"] }));
  await pass(sim, 5_000);
  const edited = write(sim, "web", plainPod("web", { command: ["serve", "2"] }));
  await pass(sim, 1_000);
  sim.killAgent("while the old pod ends", 500);
  await pass(sim, 30_000);
  expect(sim.invariants.namesOf(edited.metadata.uid)).toEqual(["main"]);
  expect(sim.invariants.running).toHaveLength(1);
});

test("a static pod that went and came back while the API server was away runs (kubernetes #116880)", async () => {
  const sim = quietNode({ inCluster: true });
  write(sim, "web", plainPod("web"));
  await pass(sim, 5_000);
  if (sim.cluster !== undefined) sim.cluster.isDown = true;
  sim.killAgent("with the API server away", 500);
  await pass(sim, 3_000);
  sim.manifests.remove("web");
  await pass(sim, 3_000);
  if (sim.cluster !== undefined) sim.cluster.isDown = false;
  const edited = write(sim, "web", plainPod("web", { image: "tools:1" }));
  await pass(sim, 90_000);
  expect(sim.invariants.namesOf(edited.metadata.uid)).toEqual(["main"]);
  expect(sim.invariants.running).toHaveLength(1);
});

test("an edited static pod starts only when the old one has stopped (kubernetes #42061)", async () => {
  const sim = quietNode();
  const old = write(sim, "web", plainPod("web", { command: ["serve", "8"] }));
  await pass(sim, 5_000);
  const edited = write(sim, "web", plainPod("web"));
  await pass(sim, 4_000);
  expect(sim.invariants.namesOf(old.metadata.uid)).toEqual(["main"]);
  expect(sim.invariants.namesOf(edited.metadata.uid)).toEqual([]);
  await pass(sim, 20_000);
  expect(sim.invariants.namesOf(old.metadata.uid)).toEqual([]);
  expect(sim.invariants.namesOf(edited.metadata.uid)).toEqual(["main"]);
});
