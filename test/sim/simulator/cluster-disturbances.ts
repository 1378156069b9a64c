import type { Container } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { withDevices } from "./devices/random-devices.ts";
import { images, type PodManifest, randomPod, resizedContainers } from "./random-pod.ts";
import type { Simulation } from "./simulation.ts";
import { withStorage } from "./storage/random-volumes.ts";

const apiNames = ["one", "two", "three"];
/** What some pods of the cluster have in a volume. */
export const configMapName = "settings";

/** What people and accidents do to a node's cluster. */
export const clusterDisturbances: readonly ((sim: Simulation) => void | Promise<void>)[] = [
  createPod,
  createPod,
  createPod,
  createPod,
  deletePod,
  deletePod,
  forceDeletePod,
  hurryPod,
  replacePod,
  editImage,
  resizePod,
  debugPod,
  editConfigMap,
  toggleApi,
  cutWatches,
];

function createPod(sim: Simulation): void {
  const { dice, cluster } = sim;
  const name = dice.pick(apiNames);
  if (cluster === undefined || cluster.find(name) !== undefined) return;
  create(sim, clusterPod(sim, name));
}

function clusterPod({ dice, storage, devices }: Simulation, name: string): PodManifest {
  const plain = randomPod(dice, name);
  const equipped = devices === undefined ? plain : withDevices(dice, plain, true);
  const pod = storage === undefined ? equipped : withStorage(dice, equipped, true);
  if (!dice.chance(0.3)) return pod;
  const volume = { name: "settings", configMap: { name: configMapName } };
  return { ...pod, spec: { ...pod.spec, volumes: [...(pod.spec.volumes ?? []), volume] } };
}

function create(sim: Simulation, manifest: PodManifest): void {
  const pod = sim.cluster?.create(manifest);
  if (pod === undefined) return;
  sim.invariants.notePod(pod);
  sim.did(`pod ${pod.metadata.name} created: ${pod.metadata.uid}`);
}

function pickPod({ dice, cluster }: Simulation): Pod | undefined {
  const pods = (cluster?.ownPods ?? []).filter(({ metadata }) => apiNames.includes(metadata.name));
  return pods.length === 0 ? undefined : dice.pick(pods);
}

async function deletePod(sim: Simulation): Promise<void> {
  await remove(sim, undefined);
}

async function forceDeletePod(sim: Simulation): Promise<void> {
  await remove(sim, 0);
}

/** Also one that is being deleted already: it gets less time than it had. */
async function hurryPod(sim: Simulation): Promise<void> {
  await remove(sim, 1);
}

async function remove(sim: Simulation, graceSeconds: number | undefined): Promise<string> {
  const name = pickPod(sim)?.metadata.name ?? "";
  if (name === "") return name;
  sim.did(`pod ${name} deleted${graceSeconds === undefined ? "" : `, ${graceSeconds} s of grace`}`);
  await sim.cluster?.removeWithin(name, graceSeconds);
  return name;
}

/** Another pod of the same name, before anything of the first has ended. */
async function replacePod(sim: Simulation): Promise<void> {
  const name = await remove(sim, 0);
  if (name !== "") create(sim, clusterPod(sim, name));
}

function editImage(sim: Simulation): void {
  const image = sim.dice.pick(images);
  edit(sim, `gets ${image}`, (spec) => {
    const [first, ...rest] = spec.containers;
    return first === undefined ? spec : { ...spec, containers: [{ ...first, image }, ...rest] };
  });
}

function resizePod(sim: Simulation): void {
  edit(sim, "is resized", (spec) => ({
    ...spec,
    containers: resizedContainers(sim.dice, spec.containers),
  }));
}

/** A user debugs a pod with an ephemeral container. */
function debugPod(sim: Simulation): void {
  const command = sim.dice.pick([["exit", "0"], ["sleep", "20"], ["serve"]]);
  edit(sim, "is debugged", (spec) => {
    const { ephemeralContainers = [] } = spec;
    const name = `debug-${ephemeralContainers.length}`;
    const added: Container = { name, image: "tools:1", command, imagePullPolicy: "IfNotPresent" };
    return { ...spec, ephemeralContainers: [...ephemeralContainers, added] };
  });
}

function edit(sim: Simulation, what: string, change: (spec: Pod["spec"]) => Pod["spec"]): void {
  const name = pickPod(sim)?.metadata.name;
  const pod = name === undefined ? undefined : sim.cluster?.edit(name, change);
  if (pod === undefined) return;
  sim.invariants.notePod(pod);
  sim.did(`pod ${pod.metadata.name} ${what}`);
}

function editConfigMap(sim: Simulation): void {
  const color = sim.dice.pick(["gone", "red", "blue"]);
  sim.did(`the ConfigMap is ${color}`);
  sim.cluster?.setConfigMap(configMapName, color === "gone" ? undefined : { color });
}

export function toggleApi(sim: Simulation): void {
  if (sim.cluster === undefined) return;
  sim.cluster.isDown = !sim.cluster.isDown;
  sim.did(sim.cluster.isDown ? "the API server is down" : "the API server is back");
}

function cutWatches(sim: Simulation): void {
  const isCompacted = sim.dice.chance(0.5);
  sim.did(isCompacted ? "watches end, history is gone" : "watches end");
  sim.cluster?.cutWatches(isCompacted);
}
