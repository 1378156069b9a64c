import { containerNameLabel, podUidLabel } from "../../../src/model/labels.ts";
import { podFullName } from "../../../src/model/pod.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import { label } from "./invariants.ts";
import { type PodManifest, randomPod, resizedPod } from "./random-pod.ts";
import type { Simulation } from "./simulation.ts";

const podNames = ["alpha", "beta", "gamma", "delta"];
const apiNames = ["one", "two", "three"];

type Disturbance = (sim: Simulation) => void | Promise<void>;

/** What people and accidents do to a node. */
const anywhere: readonly Disturbance[] = [
  writeFile,
  writeFile,
  writeFile,
  removeFile,
  resizeFile,
  renameInFile,
  replaceFile,
  killContainer,
  killSandbox,
  killAgent,
  toggleRuntime,
  toggleFiles,
  refusePulls,
];

/** What people and accidents do to its cluster. */
const inCluster: readonly Disturbance[] = [
  createPod,
  createPod,
  createPod,
  createPod,
  deletePod,
  deletePod,
  forceDeletePod,
  replacePod,
  toggleApi,
  cutWatches,
];

export async function disturb(sim: Simulation): Promise<void> {
  const choices = sim.cluster === undefined ? anywhere : [...anywhere, ...inCluster];
  const disturbance = sim.dice.pick(choices);
  // While the API server is down people cannot ask anything of it either.
  if (sim.cluster?.isDown === true && inCluster.includes(disturbance)) toggleApi(sim);
  else await disturbance(sim);
}

function writeFile(sim: Simulation): void {
  const { dice } = sim;
  const name = dice.pick(podNames);
  // Two files may hold one pod: the first wins, and both may come and go.
  const file = dice.chance(0.9) ? name : `${name}-too`;
  write(sim, file, randomPod(dice, name));
}

function removeFile(sim: Simulation): void {
  const file = pickFile(sim);
  if (file === undefined) return;
  sim.did(`manifest ${file} removed`);
  sim.manifests.remove(file);
}

function resizeFile(sim: Simulation): void {
  const file = pickFile(sim);
  const manifest = file === undefined ? undefined : sim.manifests.find(file);
  if (file !== undefined && manifest !== undefined) {
    write(sim, file, resizedPod(sim.dice, manifest));
  }
}

/** The file is the same, the pod in it is another. */
function renameInFile(sim: Simulation): void {
  const file = pickFile(sim);
  const manifest = file === undefined ? undefined : sim.manifests.find(file);
  if (file === undefined || manifest === undefined) return;
  const name = sim.dice.pick(podNames);
  write(sim, file, { ...manifest, metadata: { ...manifest.metadata, name } });
}

/** The pod goes and comes back as it was, at once or after a while. */
async function replaceFile(sim: Simulation): Promise<void> {
  const file = pickFile(sim);
  const manifest = file === undefined ? undefined : sim.manifests.find(file);
  if (file === undefined || manifest === undefined) return;
  sim.did(`manifest ${file} removed`);
  sim.manifests.remove(file);
  await sim.advance(sim.dice.pick([1, 300, 3000]));
  const pod = write(sim, file, manifest);
  sim.invariants.shown.noteReborn(pod.metadata.uid);
}

function write(sim: Simulation, file: string, manifest: PodManifest) {
  const pod = sim.manifests.write(file, manifest);
  sim.invariants.notePod(pod);
  sim.did(`manifest ${file}: ${podFullName(pod)} ${pod.metadata.uid}`);
  return pod;
}

function pickFile({ dice, manifests }: Simulation): string | undefined {
  const files = manifests.files.filter((file) => file !== controlFile);
  return files.length === 0 ? undefined : dice.pick(files);
}

function killContainer(sim: Simulation): void {
  const { running, healthy } = sim.invariants;
  const victims = running.filter((container) => !healthy.has(label(container, podUidLabel)));
  if (victims.length === 0) return;
  const victim = sim.dice.pick(victims);
  sim.did(`container ${label(victim, containerNameLabel)} dies`);
  victim.end(sim.dice.pick([0, 1, 137]));
}

function killSandbox(sim: Simulation): void {
  const { runtime } = sim.machine;
  const newest = runtime.sandboxes.at(-1);
  if (newest === undefined || sim.invariants.healthy.has(newest.config.metadata?.uid ?? "")) return;
  sim.did(`the sandbox of ${newest.config.metadata?.name} dies`);
  runtime.crashSandbox();
}

function killAgent(sim: Simulation): void {
  sim.killAgent("from outside");
}

function toggleRuntime(sim: Simulation): void {
  const { faults, machine } = sim;
  faults.isDown = !faults.isDown;
  sim.did(faults.isDown ? "the runtime is down" : "the runtime is back");
  if (faults.isDown) machine.events.cut();
}

function toggleFiles(sim: Simulation): void {
  sim.manifests.isOut = !sim.manifests.isOut;
  sim.did(sim.manifests.isOut ? "the manifests are away" : "the manifests are back");
}

function refusePulls(sim: Simulation): void {
  const { runtime } = sim.machine;
  const areRefused = sim.dice.chance(0.5);
  sim.did(areRefused ? "the registry is down" : "the registry is back");
  runtime.refusePull = () =>
    areRefused ? new RuntimeError("PullImage", "Unknown", "connection refused") : undefined;
}

function createPod(sim: Simulation): void {
  const { dice, cluster } = sim;
  const name = dice.pick(apiNames);
  if (cluster === undefined || cluster.find(name) !== undefined) return;
  create(sim, randomPod(dice, name));
}

function create(sim: Simulation, manifest: PodManifest): void {
  const pod = sim.cluster?.create(manifest);
  if (pod === undefined) return;
  sim.invariants.notePod(pod);
  sim.did(`pod ${pod.metadata.name} created: ${pod.metadata.uid}`);
}

async function deletePod(sim: Simulation, isForced = false): Promise<void> {
  const pods = sim.cluster?.ownPods ?? [];
  if (pods.length === 0) return;
  const { name } = sim.dice.pick(pods).metadata;
  sim.did(`pod ${name} deleted${isForced ? " by force" : ""}`);
  await sim.cluster?.remove(name, isForced);
}

function forceDeletePod(sim: Simulation): Promise<void> {
  return deletePod(sim, true);
}

/** Another pod of the same name, before anything of the first has ended. */
async function replacePod(sim: Simulation): Promise<void> {
  const pods = sim.cluster?.ownPods ?? [];
  if (pods.length === 0) return;
  const { name } = sim.dice.pick(pods).metadata;
  sim.did(`pod ${name} deleted by force`);
  await sim.cluster?.remove(name, true);
  create(sim, randomPod(sim.dice, name));
}

function toggleApi(sim: Simulation): void {
  if (sim.cluster === undefined) return;
  sim.cluster.isDown = !sim.cluster.isDown;
  sim.did(sim.cluster.isDown ? "the API server is down" : "the API server is back");
}

function cutWatches(sim: Simulation): void {
  const isCompacted = sim.dice.chance(0.5);
  sim.did(isCompacted ? "watches end, history is gone" : "watches end");
  sim.cluster?.cutWatches(isCompacted);
}

const controlFile = "control";

/** A pod that is well and that nothing is done to; it must not notice anything of the rest. */
export function addControlPod(sim: Simulation): void {
  const pod = write(sim, controlFile, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: controlFile, namespace: "default" },
    spec: { containers: [{ name: "main", image: "app:1", command: ["serve"] }] },
  });
  sim.invariants.healthy.add(pod.metadata.uid);
}
