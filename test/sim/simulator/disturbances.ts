import { containerNameLabel, podUidLabel } from "../../../src/model/labels.ts";
import { type Pod, podFullName } from "../../../src/model/pod.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import { clusterDisturbances, configMapName, toggleApi } from "./cluster-disturbances.ts";
import { deviceDisturbances } from "./devices/device-disturbances.ts";
import { withDevices } from "./devices/random-devices.ts";
import { label } from "./invariants.ts";
import type { ManifestSource } from "./manifest-source.ts";
import { type PodManifest, randomPod, resizedContainers } from "./random-pod.ts";
import type { Simulation } from "./simulation.ts";
import { withStorage } from "./storage/random-volumes.ts";
import { storageDisturbances } from "./storage/storage-disturbances.ts";

const podNames = ["alpha", "beta", "gamma", "delta"];

/** A pod that has more time to end than this comes back before it is removed. */
const longestRemovalMs = 20_000;

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
  returnDuringRemoval,
  replaceWhileAway,
  killContainer,
  killSandbox,
  killAgent,
  toggleRuntime,
  toggleFiles,
  refusePulls,
];

export async function disturb(sim: Simulation): Promise<void> {
  const choices = [
    ...anywhere,
    ...(sim.cluster === undefined ? [] : clusterDisturbances),
    ...(sim.storage === undefined ? [] : storageDisturbances),
    ...(sim.devices === undefined ? [] : deviceDisturbances),
  ];
  const disturbance = sim.dice.pick(choices);
  // While the API server is down people cannot ask anything of it either.
  if (sim.cluster?.isDown === true && clusterDisturbances.includes(disturbance)) toggleApi(sim);
  else await disturbance(sim);
}

function writeFile(sim: Simulation): void {
  const { dice } = sim;
  const name = dice.pick(podNames);
  // Two files may hold one pod: the first wins, and both may come and go.
  const file = dice.chance(0.9) ? name : `${name}-too`;
  write(sim, file, filePod(sim, name));
}

/** Pods of files may use claims where those lie beside them. */
function filePod({ dice, storage, devices, cluster }: Simulation, name: string): PodManifest {
  const plain = randomPod(dice, name);
  const pod = devices === undefined ? plain : withDevices(dice, plain, false);
  const mayUse = storage !== undefined && cluster === undefined;
  return mayUse ? withStorage(dice, pod, false) : pod;
}

function removeFile(sim: Simulation): void {
  const file = pickFile(sim);
  if (file !== undefined) removeManifest(sim, file);
}

function resizeFile(sim: Simulation): void {
  const file = pickFile(sim);
  const manifest = file === undefined ? undefined : sim.manifests.find(file);
  if (file !== undefined && manifest !== undefined) {
    const containers = resizedContainers(sim.dice, manifest.spec.containers);
    write(sim, file, { ...manifest, spec: { ...manifest.spec, containers } });
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
  removeManifest(sim, file);
  await sim.advance(sim.dice.pick([1, 300, 3000]));
  write(sim, file, manifest);
}

/** The pod comes back as it was while what it left is being removed. */
async function returnDuringRemoval(sim: Simulation): Promise<void> {
  const file = pickFile(sim);
  const manifest = file === undefined ? undefined : sim.manifests.find(file);
  const uid = file === undefined ? undefined : sim.manifests.uidOf(file);
  if (file === undefined || manifest === undefined || uid === undefined) return;
  removeManifest(sim, file);
  await sim.advanceToRemoval(uid, longestRemovalMs);
  await sim.advance(sim.dice.pick([1, 20, 100]));
  write(sim, file, manifest);
}

/** Pods of the same names replace others while no agent runs: the next one finds the others in the runtime only. */
function replaceWhileAway(sim: Simulation): void {
  const { dice, manifests } = sim;
  sim.killAgent("before manifests change");
  for (const file of manifests.files) {
    const name = file === controlFile ? undefined : manifests.find(file)?.metadata.name;
    if (name !== undefined && dice.chance(0.5)) write(sim, file, filePod(sim, name));
  }
}

export function write(sim: Simulation, file: string, manifest: PodManifest): Pod {
  const pod = change(sim, (manifests) => manifests.write(file, manifest));
  sim.invariants.notePod(pod);
  sim.did(`manifest ${file}: ${podFullName(pod)} ${pod.metadata.uid}`);
  return pod;
}

export function removeManifest(sim: Simulation, file: string): void {
  sim.did(`manifest ${file} removed`);
  change(sim, (manifests) => manifests.remove(file));
}

/** A pod that was wanted before, and then was not, begins another life under its UID. */
function change<T>({ invariants, manifests }: Simulation, edit: (source: ManifestSource) => T): T {
  const before = manifests.wantedUids;
  const result = edit(manifests);
  for (const uid of manifests.wantedUids) {
    if (invariants.knows(uid) && !before.has(uid)) invariants.shown.noteReborn(uid);
  }
  return result;
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
  const exitCode = sim.dice.pick([0, 1, 137]);
  const afterMs = sim.dice.pick([0, 10, 100, 1000]);
  sim.did(`container ${label(victim, containerNameLabel)} dies in ${afterMs} ms`);
  // Some time between two things that the agent does; it may have ended before by itself.
  const end = (): void => victim.end(exitCode);
  sim.clock.sleep(afterMs, victim.ended).then(end, () => undefined);
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

const controlFile = "control";

const healthyFile = healthyPod(controlFile);
const healthyClusterPod = healthyPod("well");

function healthyPod(name: string): PodManifest {
  const spec = { containers: [{ name: "main", image: "app:1", command: ["serve"] }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
}

/** Pods that are well and that nothing is done to: they must not notice anything of the rest. */
export function addControlPods(sim: Simulation): void {
  const pod = write(sim, controlFile, healthyFile);
  sim.invariants.healthy.add(pod.metadata.uid);
  if (sim.cluster === undefined) return;
  sim.cluster.setConfigMap(configMapName, { color: "red" });
  const other = sim.cluster.create(healthyClusterPod);
  sim.invariants.notePod(other);
  sim.invariants.healthy.add(other.metadata.uid);
}
