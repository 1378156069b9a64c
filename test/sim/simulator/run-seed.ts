import { isDeepStrictEqual } from "node:util";
import type {
  ContainerStatus,
  ResourceRequirements,
} from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { isExtendedResource } from "../../../src/model/validate/resource-names.ts";
import { configMapName } from "./cluster-disturbances.ts";
import { isSteady, leftovers, runningIds, unconverged } from "./convergence.ts";
import { podWithEverything } from "./devices/random-devices.ts";
import { addControlPods, disturb, removeManifest, write } from "./disturbances.ts";
import { Simulation, type SimulationOptions } from "./simulation.ts";

export interface SeedReport {
  readonly seed: number;
  readonly simulatedMs: number;
  readonly lives: number;
  /** How often something was done to the node. */
  readonly steps: number;
  readonly violation?: string | undefined;
  readonly trace: readonly string[];
  /** Where in the trace something was done from outside. */
  readonly deeds: readonly number[];
}

export interface SeedOptions {
  /** Ends the chaos after so many steps; all of them unless given. */
  readonly steps?: number | undefined;
  readonly sabotage?: SimulationOptions["sabotage"];
}

/** A promise: once nothing goes wrong any more, everything is as it is wanted after at most this time. */
const longestCalmMs = 240_000;

/** Three seeds of each nine have devices, with and without volumes. */
export function hasDevicesIn(seed: number): boolean {
  return Math.floor(seed / storageEvery) % 3 === 0;
}

/** Each seed of so many has CSI drivers, claims and volumes. */
export const storageEvery = 3;
const lookEveryMs = 2_000;
const restMs = 12_000;
const maxRests = 5;

/** One random life of a node: chaos, calm, a restart with nothing to do, and the end of all pods. */
export async function runSeed(
  seed: number,
  { steps: mostSteps = Number.POSITIVE_INFINITY, sabotage }: SeedOptions = {},
): Promise<SeedReport> {
  const hasStorage = seed % storageEvery === 0;
  const hasDevices = hasDevicesIn(seed);
  const sim = new Simulation(seed, { inCluster: seed % 2 === 0, hasStorage, hasDevices, sabotage });
  // It would end the process of a real agent.
  const onUnhandled = (error: unknown): void => sim.fail(`unhandled: ${String(error)}`);
  process.on("unhandledRejection", onUnhandled);
  const steps = await live(sim, mostSteps);
  process.off("unhandledRejection", onUnhandled);
  return {
    seed,
    simulatedMs: sim.clock.monotonicMs(),
    lives: sim.lives,
    steps,
    violation: sim.violation?.message,
    trace: sim.trace,
    deeds: sim.deeds,
  };
}

/** How often something was done to the node. */
async function live(sim: Simulation, mostSteps: number): Promise<number> {
  addControlPods(sim);
  sim.startAgent();
  const steps = await chaos(sim, mostSteps);
  calmDown(sim);
  await converge(sim, () => unconverged(sim));
  await restart(sim);
  await removeAll(sim);
  if (sim.devices !== undefined) await handOutAll(sim);
  return steps;
}

async function chaos(sim: Simulation, mostSteps: number): Promise<number> {
  const { dice, faults } = sim;
  faults.rate = dice.pick([0, 0, 0.01, 0.05]);
  sim.eventFaultRate = dice.pick([0, 0.1, 0.5]);
  sim.crashRate = dice.pick([0, 0, 0.0005, 0.003]);
  sim.machineFaults.rate = dice.pick([0, 0, 0.01, 0.1]);
  const apiFaultRate = dice.pick([0, 0, 0.05, 0.2]);
  if (sim.cluster !== undefined) sim.cluster.rate = apiFaultRate;
  if (sim.storage !== undefined) {
    sim.storage.faults.rate = dice.pick([0, 0.02, 0.1, 0.3]);
    sim.storage.readFaultRate = dice.pick([0, 0, 0.05, 0.3]);
  }
  if (sim.devices !== undefined) sim.devices.faults.rate = dice.pick([0, 0.02, 0.1, 0.3]);
  const steps = Math.min(mostSteps, dice.between(8, 30));
  for (let step = 0; step < steps; step += 1) {
    if (sim.violation !== undefined) return step;
    await disturb(sim);
    await sim.advance(dice.pick([200, 1000, 5000]));
  }
  return steps;
}

function calmDown(sim: Simulation): void {
  sim.did("nothing goes wrong any more");
  sim.faults.end();
  sim.machineFaults.rate = 0;
  sim.eventFaultRate = 0;
  sim.crashRate = 0;
  sim.manifests.isOut = false;
  sim.machine.runtime.refusePull = () => undefined;
  sim.storage?.end();
  sim.devices?.end();
  if (sim.cluster === undefined) return;
  sim.cluster.rate = 0;
  sim.cluster.isDown = false;
  sim.cluster.setConfigMap(configMapName, { color: "green" });
}

/** Nothing goes wrong: everything must come to what is wanted, and be so at two looks in a row. */
async function converge(
  sim: Simulation,
  look: () => readonly string[] | Promise<readonly string[]>,
): Promise<void> {
  const endMs = sim.clock.monotonicMs() + longestCalmMs;
  let problems: readonly string[] = [];
  let goodLooks = 0;
  while (sim.violation === undefined && goodLooks < 2) {
    await sim.advance(lookEveryMs);
    problems = await look();
    goodLooks = problems.length === 0 ? goodLooks + 1 : 0;
    if (sim.clock.monotonicMs() <= endMs) continue;
    for (const { metadata, status } of sim.shownPods()) {
      const explained = await sim.agent?.view.explain(metadata.uid, new AbortController().signal);
      const last = JSON.stringify(explained?.syncs.at(-1));
      sim.note(`${metadata.name} (${explained?.workerState}): ${JSON.stringify(status)}, ${last}`);
    }
    sim.fail(problems.join(", "));
  }
}

/** A restart with nothing changed: nothing is done to what runs well, and no status is reported again. */
async function restart(sim: Simulation): Promise<void> {
  if (sim.violation !== undefined) return;
  await rest(sim);
  const before = new Map(sim.shownPods().map((pod) => [pod.metadata.uid, pod]));
  const steady = [...before.values()].filter((pod) => isSteady(sim, pod));
  const statusBefore = new Map(steady.map((pod) => [pod.metadata.uid, reportedStatus(sim, pod)]));
  const ids = new Set(steady.flatMap(({ metadata }) => runningIds(sim, metadata.uid)));
  sim.killAgent("with nothing to do", 1000);
  const changesBefore = sim.changes.length;
  await sim.advance(restMs);
  const after = new Map(sim.shownPods().map((pod) => [pod.metadata.uid, pod]));
  for (const { metadata } of steady) {
    const was = statusBefore.get(metadata.uid);
    const is = reportedStatus(sim, after.get(metadata.uid));
    if (isDeepStrictEqual(was, is)) continue;
    sim.note(`before ${JSON.stringify(was)}`);
    sim.note(`after  ${JSON.stringify(is)}`);
    sim.fail(`a restart changed the status of ${metadata.name}`);
  }
  const left = new Set(sim.invariants.running.map(({ place }) => place.id));
  for (const id of ids) if (!left.has(id)) sim.fail(`a restart touched the container ${id}`);
  const changes = sim.changes.slice(changesBefore);
  if (steady.length === before.size && changes.length > 0) {
    sim.fail(`a restart with nothing to do did ${changes.join(", ")}`);
  }
}

/**
 * By then, what could not be written while files failed is written, and containers that share CPUs have those of pods that ended:
 * like a kubelet, an agent looks after that every ten seconds only.
 */
async function rest(sim: Simulation): Promise<void> {
  const phases = (): unknown =>
    sim.shownPods().map(({ metadata, status }) => [metadata.uid, status?.phase]);
  for (let rests = 0; rests < maxRests; rests += 1) {
    const before = phases();
    await sim.advance(restMs);
    if (isDeepStrictEqual(before, phases())) return;
  }
}

/**
 * Times count as the API server has them: it may have missed a change that did not last. What is edited of a pod that
 * has ended is noticed by the next agent only, as with kubelets: containers that never began may come, go and change.
 */
function reportedStatus({ cluster }: Simulation, pod: Pod | undefined): Pod["status"] {
  if (pod?.status === undefined) return undefined;
  const { phase, reason, message, conditions = [], observedGeneration } = pod.status;
  // As with kubelets, the next agent adds to a refused pod that none of its containers was found.
  if (phase === "Failed" && wasRefused(pod)) return { phase, reason, message };
  const resources = basicResources(pod.status.resources);
  if (cluster === undefined) return { ...pod.status, resources };
  const isOver = phase === "Succeeded" || phase === "Failed";
  const shown = cluster.find(pod.metadata.name)?.status;
  const begun = (statuses: readonly ContainerStatus[] = []): readonly ContainerStatus[] =>
    isOver ? statuses.filter(({ state }) => state?.waiting === undefined) : statuses;
  return {
    ...pod.status,
    resources,
    startTime: shown?.startTime ?? pod.status.startTime,
    observedGeneration: isOver ? undefined : observedGeneration,
    containerStatuses: [...begun(pod.status.containerStatuses)],
    ephemeralContainerStatuses: [...begun(pod.status.ephemeralContainerStatuses)],
    conditions: conditions.map((condition) => ({
      ...condition,
      lastTransitionTime: shown?.conditions?.find(({ type }) => type === condition.type)
        ?.lastTransitionTime,
      ...(isOver ? { observedGeneration: undefined } : {}),
    })),
  };
}

function wasRefused({ status: { message = "" } = {} }: Pod): boolean {
  return message.startsWith("Pod was rejected: ");
}

/** As with kubelets, those of the whole pod have devices only until its first sync after it started. */
function basicResources({ requests, limits }: ResourceRequirements = {}): ResourceRequirements {
  const basic = (list: ResourceRequirements["limits"] = {}): NonNullable<typeof list> =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !isExtendedResource(name)));
  return { requests: basic(requests), limits: basic(limits) };
}

/** Nothing of what pods had is lost: one pod gets all of it. */
async function handOutAll(sim: Simulation): Promise<void> {
  if (sim.violation !== undefined) return;
  const name = "everything";
  const { metadata } = write(sim, name, podWithEverything(name));
  await converge(sim, () => {
    const running = sim.invariants.namesOf(metadata.uid);
    return running.length === 2 ? [] : [`${name} runs ${running.join(", ") || "nothing"}`];
  });
  await removeAll(sim);
}

async function removeAll(sim: Simulation): Promise<void> {
  if (sim.violation !== undefined) return;
  sim.did("everything is removed");
  sim.invariants.healthy.clear();
  for (const file of sim.manifests.files) removeManifest(sim, file);
  for (const { metadata } of sim.cluster?.ownPods ?? []) {
    await sim.cluster?.remove(metadata.name, false);
  }
  await converge(sim, () => leftovers(sim));
}
