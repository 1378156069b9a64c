// Devices and CPUs that containers have for themselves: no other container gets them, and none is lost.
import { expect, test } from "vitest";
import { unconverged } from "../simulator/convergence.ts";
import type { DeviceWorld } from "../simulator/devices/device-world.ts";
import type { PodManifest } from "../simulator/random-pod.ts";
import type { Simulation } from "../simulator/simulation.ts";
import { create, isReady, pass, plainContainer, plainPod, quietNode, write } from "./scenario.ts";

const gpu = "sim.dev/gpu";

/** A node on which all plugins run. */
async function nodeWithDevices(): Promise<{
  readonly sim: Simulation;
  readonly devices: DeviceWorld;
}> {
  const sim = quietNode({ hasDevices: true });
  const { devices } = sim;
  if (devices === undefined) throw new Error("the node has no devices");
  devices.startAll();
  await pass(sim, 2_000);
  return { sim, devices };
}

function podWith(name: string, resource: string, count: number, command = "serve"): PodManifest {
  const resources = { limits: { [resource]: String(count), cpu: "200m", memory: "64Mi" } };
  return plainPod(name, { command: [command], resources }, { terminationGracePeriodSeconds: 30 });
}

test("the devices of a pod that goes while its plugin hangs are free again", async () => {
  const { sim, devices } = await nodeWithDevices();
  // What hangs is carried out in the end.
  devices.faults.next = () => ({ kind: "hung", forMs: 600_000, isDone: true });
  write(sim, "hasty", podWith("hasty", gpu, 2));
  await pass(sim, 1_000);
  sim.manifests.remove("hasty");
  await pass(sim, 1_000);
  devices.faults.next = () => undefined;
  devices.faults.release();
  await pass(sim, 5_000);
  const file = "/sim/device-plugins/kubelet_internal_checkpoint";
  expect(await sim.machine.files.readText(file)).toContain('"PodDeviceEntries":null');
  write(sim, "all", podWith("all", gpu, 3));
  await pass(sim, 5_000);
  expect(isReady(sim, "all")).toBe(true);
});

test("a pod that comes back and cannot have its devices leaves its former life those that it runs with", async () => {
  const { sim, devices } = await nodeWithDevices();
  const manifest = podWith("again", gpu, 2, "stubborn");
  const { metadata } = write(sim, "again", manifest);
  await pass(sim, 5_000);
  expect(isReady(sim, "again")).toBe(true);
  sim.manifests.remove("again");
  await pass(sim, 1_000);
  for (const plugin of devices.plugins) while (plugin.hasHealthy) plugin.loseDevice();
  await pass(sim, 1_000);
  sim.invariants.shown.noteReborn(metadata.uid);
  write(sim, "again", manifest);
  await pass(sim, 1_000);
  for (const plugin of devices.plugins) plugin.findDevices();
  await pass(sim, 500);
  write(sim, "other", podWith("other", gpu, 2));
  await pass(sim, 10_000);
  expect(sim.invariants.namesOf(metadata.uid)).toEqual(["main"]);
  expect(isReady(sim, "other")).toBe(false);
});

test.each([0, 1, 20, 100, 300])(
  "a pod that comes back %i ms after its removal began starts with CPUs of its own",
  async (ms) => {
    const { sim } = await nodeWithDevices();
    const resources = { limits: { cpu: "2", memory: "64Mi" } };
    const manifest = plainPod("pinned", { resources });
    const { metadata } = write(sim, "pinned", manifest);
    await pass(sim, 5_000);
    sim.manifests.remove("pinned");
    await sim.advanceToRemoval(metadata.uid, 20_000);
    await pass(sim, ms);
    sim.invariants.shown.noteReborn(metadata.uid);
    write(sim, "pinned", manifest);
    // That it has two CPUs is checked whenever a container starts.
    await pass(sim, 10_000);
    expect(isReady(sim, "pinned")).toBe(true);
  },
);

test("a container added to a running pod stays on the CPUs that were shared when it started, as with kubelets", async () => {
  const sim = quietNode({ inCluster: true, hasDevices: true });
  const { cluster } = sim;
  if (cluster === undefined) throw new Error("the node belongs to no cluster");
  create(sim, cluster, plainPod("shared"));
  await pass(sim, 5_000);
  const added = plainContainer("debug-0");
  const pod = cluster.edit("shared", (spec) => ({ ...spec, ephemeralContainers: [added] }));
  if (pod === undefined) throw new Error("the pod is not in the API server");
  sim.invariants.notePod(pod);
  await pass(sim, 5_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main", "debug-0"]);
  const resources = { limits: { cpu: "2", memory: "64Mi" } };
  write(sim, "pinned", plainPod("pinned", { resources }));
  await pass(sim, 30_000);
  expect(isReady(sim, "pinned")).toBe(true);
  const cpus = sim.invariants.runningOf(pod.metadata.uid).map((each) => each.resources?.cpusetCpus);
  expect(new Set(cpus).size).toBe(2);
  // All others left the CPUs of the pinned one.
  expect(await unconverged(sim)).toEqual([]);
});
