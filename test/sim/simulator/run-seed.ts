import { containerNameLabel, podUidLabel } from "../../../src/model/labels.ts";
import { type Pod, podFullName } from "../../../src/model/pod.ts";
import { containerStatuses, label } from "./invariants.ts";
import { randomPod } from "./random-pod.ts";
import { Simulation } from "./simulation.ts";

export interface SeedReport {
  readonly seed: number;
  readonly simulatedMs: number;
  readonly lives: number;
  readonly violation?: string | undefined;
  readonly trace: readonly string[];
}

const podNames = ["alpha", "beta", "gamma", "delta"];
const calmMs = 90_000;
const restMs = 30_000;
const endMs = 60_000;

/** One random life of a node: chaos, calm, a restart with nothing to do, and the end of all pods. */
export async function runSeed(seed: number): Promise<SeedReport> {
  const sim = new Simulation(seed);
  sim.startAgent();
  await chaos(sim);
  await calm(sim);
  await restart(sim);
  await removeAll(sim);
  return {
    seed,
    simulatedMs: sim.clock.monotonicMs(),
    lives: sim.lives,
    violation: sim.violation?.message,
    trace: sim.trace,
  };
}

async function chaos(sim: Simulation): Promise<void> {
  const { dice, faults } = sim;
  faults.rate = dice.pick([0, 0, 0.01, 0.05]);
  sim.eventFaultRate = dice.pick([0, 0.1, 0.5]);
  sim.crashRate = dice.pick([0, 0, 0.0005, 0.003]);
  for (let step = dice.between(8, 30); step > 0 && sim.violation === undefined; step -= 1) {
    disturb(sim);
    await sim.advance(dice.pick([200, 1000, 5000]));
  }
}

function disturb(sim: Simulation): void {
  const { dice, machine, manifests, faults } = sim;
  switch (dice.pick(["write", "write", "write", "remove", "kill", "sandbox", "agent", "down"])) {
    case "write": {
      const name = dice.pick(podNames);
      // Two files may hold one pod: the first wins, and both may come and go.
      const file = dice.chance(0.9) ? name : `${name}-too`;
      const pod = manifests.write(file, randomPod(dice, name));
      sim.invariants.notePod(pod);
      sim.note(`manifest ${file}: ${podFullName(pod)} ${pod.metadata.uid}`);
      return;
    }
    case "remove": {
      if (manifests.files.length === 0) return;
      const file = dice.pick(manifests.files);
      sim.note(`manifest ${file} removed`);
      manifests.remove(file);
      return;
    }
    case "kill": {
      const { running } = sim.invariants;
      if (running.length === 0) return;
      const victim = dice.pick(running);
      sim.note(`container ${label(victim, containerNameLabel)} dies`);
      victim.end(dice.pick([0, 1, 137]));
      return;
    }
    case "sandbox":
      sim.note("the newest sandbox dies");
      machine.runtime.crashSandbox();
      return;
    case "agent":
      sim.killAgent("from outside");
      return;
    case "down":
      faults.isDown = !faults.isDown;
      sim.note(faults.isDown ? "the runtime is down" : "the runtime is back");
      if (faults.isDown) machine.events.cut();
  }
}

/** Nothing goes wrong any more: everything must come to what is wanted. */
async function calm(sim: Simulation): Promise<void> {
  sim.faults.rate = 0;
  sim.faults.isDown = false;
  sim.eventFaultRate = 0;
  sim.crashRate = 0;
  sim.note("calm");
  await sim.advance(calmMs);
  checkConverged(sim);
}

/** A restart with nothing changed: nothing is done to what runs well, and nothing is told anew. */
async function restart(sim: Simulation): Promise<void> {
  if (sim.violation !== undefined) return;
  const before = new Map(sim.shownPods().map((pod) => [pod.metadata.uid, pod]));
  const steady = [...before.values()].filter((pod) => isSteady(sim, pod));
  const ids = new Set(steady.flatMap(({ metadata }) => runningIds(sim, metadata.uid)));
  sim.killAgent("with nothing to do", 1000);
  await sim.advance(restMs);
  const after = new Map(sim.shownPods().map((pod) => [pod.metadata.uid, pod]));
  for (const { metadata } of steady) {
    const shown = JSON.stringify(after.get(metadata.uid)?.status);
    if (shown !== JSON.stringify(before.get(metadata.uid)?.status)) {
      sim.note(`before ${JSON.stringify(before.get(metadata.uid)?.status)}`);
      sim.note(`after  ${shown}`);
      sim.fail(`a restart changed the status of ${metadata.name}`);
    }
  }
  const left = new Set(sim.invariants.running.map(({ place }) => place.id));
  for (const id of ids) if (!left.has(id)) sim.fail(`a restart touched the container ${id}`);
}

async function removeAll(sim: Simulation): Promise<void> {
  if (sim.violation !== undefined) return;
  sim.note("everything is removed");
  for (const file of sim.manifests.files) sim.manifests.remove(file);
  await sim.advance(endMs);
  if (sim.violation !== undefined) return;
  const { runtime, cgroups, mounts, files } = sim.machine;
  const left = [
    ...runtime.sandboxes.map(({ id }) => `sandbox ${id}`),
    ...runtime.containers.map(({ place }) => `container ${place.id}`),
    ...cgroups.paths.filter((path) => path.includes("pod", "/kubepods".length)),
    ...mounts.paths,
    ...(await files.list("/sim/pods")).map((uid) => `folder of ${uid}`),
    ...(await files.list("/sim/statuses")).map((name) => `status ${name}`),
    ...sim.shownPods().map(({ metadata }) => `shown ${metadata.name}`),
  ];
  if (left.length > 0) sim.fail(`left behind: ${left.join(", ")}`);
}

function checkConverged(sim: Simulation): void {
  if (sim.violation !== undefined) return;
  const { runtime } = sim.machine;
  const shown = sim.shownPods();
  // Of two manifests with one name only one is a pod.
  const wanted = new Set(sim.manifests.pods.map(podFullName));
  const shownNames = new Set(shown.map(podFullName));
  for (const name of wanted) if (!shownNames.has(name)) sim.fail(`${name} is not shown`);
  for (const pod of shown) {
    if (!wanted.has(podFullName(pod))) sim.fail(`${podFullName(pod)} is still shown`);
    checkPod(sim, pod);
  }
  const uids = new Set(shown.map(({ metadata }) => metadata.uid));
  for (const { id, config } of runtime.sandboxes) {
    if (!uids.has(config.metadata?.uid ?? "")) sim.fail(`nobody wants the sandbox ${id}`);
  }
}

function checkPod(sim: Simulation, pod: Pod): void {
  const { uid, name } = pod.metadata;
  const { status = {} } = pod;
  const running = new Set(runningIds(sim, uid));
  if (status.phase === "Succeeded" || status.phase === "Failed") {
    if (running.size > 0) sim.fail(`${name} is ${status.phase} and runs`);
    return;
  }
  for (const { name: container, state, containerID = "" } of containerStatuses(status)) {
    const isRunning = running.has(containerID.replace(/^.*:\/\//, ""));
    if ((state?.running !== undefined) !== isRunning) {
      sim.fail(`${name}/${container} is shown as ${JSON.stringify(state)}: running ${isRunning}`);
    }
  }
  const ready = sim.machine.runtime.sandboxes.filter(
    ({ config, isReady }) => config.metadata?.uid === uid && isReady,
  );
  if (ready.length !== 1) sim.fail(`${name} has ${ready.length} sandboxes`);
}

/** Nothing of it will change by itself. */
function isSteady(sim: Simulation, pod: Pod): boolean {
  const { status = {}, spec } = pod;
  if (status.phase === "Succeeded" || status.phase === "Failed") return true;
  const hasProbes = [...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ livenessProbe, readinessProbe, startupProbe }) =>
      [livenessProbe, readinessProbe, startupProbe].some((probe) => probe !== undefined),
  );
  const states = containerStatuses(status);
  const isRunning = (status.containerStatuses ?? []).every(
    ({ state }) => state?.running !== undefined,
  );
  const endsSoon = runningContainers(sim, pod.metadata.uid).some(
    ({ program }) => program.endsAfterMs !== undefined,
  );
  return !hasProbes && isRunning && !endsSoon && states.every(({ state }) => !state?.waiting);
}

function runningContainers(sim: Simulation, uid: string) {
  return sim.invariants.running.filter((container) => label(container, podUidLabel) === uid);
}

function runningIds(sim: Simulation, uid: string): readonly string[] {
  return runningContainers(sim, uid).map(({ place }) => place.id);
}
