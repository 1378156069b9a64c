import { expect, test } from "vitest";
import type { Container } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import type { PodManifest } from "../sim/simulator/random-pod.ts";
import { Simulation } from "../sim/simulator/simulation.ts";
import { type ThrowingOptions, ThrowingPorts } from "../sim/simulator/throwing-ports.ts";

const victimName = "victim";
const neighbours = ["first", "second"];

function manifest(name: string, seconds = 1): PodManifest {
  const exec = { command: ["exit", "0"] };
  const probe = { exec, periodSeconds: 2 };
  const container: Container = {
    name: "main",
    image: "app:1",
    command: ["serve", String(seconds)],
    readinessProbe: probe,
    livenessProbe: probe,
    lifecycle: { postStart: { httpGet: { port: 80 } }, preStop: { exec } },
    resources: { limits: { cpu: "1", memory: "64Mi" } },
    volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [container], volumes: [{ name: "scratch", emptyDir: {} }] },
  };
}

interface Outcome {
  readonly ports: ThrowingPorts;
  readonly problems: readonly string[];
}

/** A life in which calls about one pod throw: it comes, is changed and goes, and so do others beside it. */
async function live(
  seed: number,
  options: Omit<ThrowingOptions, "marks">,
  inCluster = false,
): Promise<Outcome> {
  const marks = [victimName];
  const ports = new ThrowingPorts({ ...options, marks });
  const sim = new Simulation(seed, { inCluster, sabotage: (real) => ports.bind(real) });
  const onUnhandled = (error: unknown): void => sim.fail(`unhandled: ${String(error)}`);
  process.on("unhandledRejection", onUnhandled);
  const write = (name: string, seconds?: number): void => {
    const { metadata } = sim.manifests.write(name, manifest(name, seconds));
    if (name === victimName) marks.push(metadata.uid);
  };
  write(victimName);
  for (const name of neighbours) write(name);
  sim.startAgent();
  await sim.advance(12_000);
  const problems = [...notReady(sim, neighbours)];
  write(victimName, 2);
  write("second", 2);
  await sim.advance(12_000);
  sim.manifests.remove(victimName);
  write("late");
  await sim.advance(10_000);
  problems.push(...notReady(sim, [...neighbours, "late"]));
  if (sim.violation !== undefined) problems.push(sim.violation.message);
  if (sim.lives !== 1) problems.push(`${sim.lives} lives`);
  sim.killAgent("after all", 0);
  await sim.advance(1);
  process.off("unhandledRejection", onUnhandled);
  return { ports, problems: [...new Set(problems)] };
}

function notReady(sim: Simulation, names: readonly string[]): readonly string[] {
  const ready = new Set(
    sim
      .shownPods()
      .filter(isReady)
      .map(({ metadata }) => metadata.name),
  );
  return names.filter((name) => !ready.has(`${name}-sim-node`)).map((name) => `${name} not ready`);
}

function isReady({ status }: Pod): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
  );
}

test("whatever call about one pod throws, the agent stays and all other pods keep their promises", async () => {
  const { ports, problems } = await live(1, { isThrowing: () => false, mode: "later" }, true);
  expect(problems).toEqual([]);
  expect(ports.seen.size).toBeGreaterThan(25);
  const failed: string[] = [];
  for (const call of ports.seen) {
    for (const mode of ["at once", "later"] as const) {
      const isThrowing = (each: string) => each === call;
      const outcome = await live(1, { isThrowing, mode }, true);
      if (outcome.ports.thrown === 0 && mode === "at once") failed.push(`${call} did not throw`);
      if (outcome.problems.length > 0) {
        failed.push(`${call} ${mode}: ${outcome.problems.join(", ")}`);
      }
    }
  }
  expect(failed).toEqual([]);
});

/** Fields of the spec that decisions read. */
const poisonedFields = [
  "containers",
  "initContainers",
  "volumes",
  "restartPolicy",
  "hostNetwork",
  "securityContext",
  "priority",
  "terminationGracePeriodSeconds",
] as const;

test("a pod that makes decisions about it throw is refused or retried, and all others go on", async () => {
  const failed: string[] = [];
  for (const field of poisonedFields) {
    const problems = await liveWithPoison(field);
    if (problems.length > 0) failed.push(`${field}: ${problems.join(", ")}`);
  }
  expect(failed).toEqual([]);
});

/** From the start the victim cannot be read; then it can, and runs; then it cannot again. */
async function liveWithPoison(field: (typeof poisonedFields)[number]): Promise<readonly string[]> {
  const sim = new Simulation(1, {});
  const onUnhandled = (error: unknown): void => sim.fail(`unhandled: ${String(error)}`);
  process.on("unhandledRejection", onUnhandled);
  for (const name of [victimName, ...neighbours]) sim.manifests.write(name, manifest(name));
  const victim = sim.manifests.pods.find(({ metadata }) => metadata.name.startsWith(victimName));
  const value = victim?.spec[field];
  let reads = 0;
  const poison = (isPoisoned: boolean): void => {
    Object.defineProperty(victim?.spec, field, {
      configurable: true,
      enumerable: true,
      get: () => {
        if (!isPoisoned) return value;
        reads += 1;
        throw new TypeError(`planted in ${field}`);
      },
    });
  };
  poison(true);
  sim.startAgent();
  await sim.advance(12_000);
  const problems = [...notReady(sim, neighbours)];
  if (sim.agent?.view.listEvents().some(({ message }) => message?.includes("planted")) !== true) {
    problems.push("nothing shows it");
  }
  sim.manifests.write("late", manifest("late"));
  await sim.advance(12_000);
  problems.push(...notReady(sim, [...neighbours, "late"]));
  if (sim.violation !== undefined) problems.push(sim.violation.message);
  if (reads === 0) problems.push("never read");
  sim.killAgent("after all", 0);
  await sim.advance(1);
  process.off("unhandledRejection", onUnhandled);
  return problems;
}
