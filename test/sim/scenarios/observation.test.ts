// Events of the runtime that arrive late, twice, never, or for one pod only after minutes.

import { expect, test } from "vitest";
import type { Node } from "../../../src/model/generated/kubernetes.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import type { Summary } from "../../../src/model/stats-summary.ts";
import { unconverged } from "../simulator/convergence.ts";
import type { Simulation } from "../simulator/simulation.ts";
import {
  ask,
  countCalls,
  create,
  pass,
  plainContainer,
  plainPod,
  quietCluster,
  quietNode,
  stateInApi,
  write,
} from "./scenario.ts";

const signal = new AbortController().signal;
const podPath = "/api/v1/namespaces/default/pods/web";

test("a pod that is changed again and again while it starts gets one of each container (kubernetes #121003)", async () => {
  const { sim, cluster } = quietCluster();
  sim.eventFaultRate = 1;
  const initContainers = [plainContainer("first", { command: ["sleep", "1"] })];
  const pod = create(sim, cluster, plainPod("web", {}, { initContainers }));
  for (let turn = 0; turn < 30; turn += 1) {
    const metadata = { labels: { turn: `t${turn}` } };
    await ask(sim, cluster, { method: "PATCH", path: podPath, body: { metadata } });
  }
  // What no event reported is found by the next listing of all.
  await pass(sim, 90_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  expect(countCalls(sim, "CreateContainer", "first")).toBe(1);
  expect(countCalls(sim, "CreateContainer")).toBe(1);
});

test("a static pod whose container is created and starts slowly gets no second one (kubernetes #123087)", async () => {
  const sim = quietNode();
  const { runtime, events } = sim.machine;
  runtime.intercept = async (method, phase) => {
    if (method === "StartContainer" && phase === "before") await sim.clock.sleep(20_000, signal);
  };
  const pod = write(sim, "web", plainPod("web"));
  for (let second = 0; second < 40; second += 1) {
    await pass(sim, 1_000);
    for (const { place } of runtime.containers) {
      events.emit({ containerId: runtimeContainerId(place.id), kind: "created" });
      events.emit({ containerId: runtimeContainerId(place.id), kind: "deleted" });
    }
  }
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  expect(countCalls(sim, "CreateContainer")).toBe(1);
});

test("a container whose start was never answered gets no second one (kubernetes #123087)", async () => {
  const sim = quietNode();
  let lost = 0;
  sim.machine.runtime.intercept = (method, phase) => {
    if (method !== "StartContainer" || phase !== "after") return;
    lost += 1;
    throw new Error("context deadline exceeded");
  };
  const pod = write(sim, "web", plainPod("web"));
  await pass(sim, 90_000);
  expect(lost).toBe(1);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  expect(await unconverged(sim)).toEqual([]);
});

test("every container is counted once though it was restarted and its events are wrong (kubernetes #129818)", async () => {
  const sim = quietNode();
  sim.eventFaultRate = 1;
  write(sim, "web", plainPod("web", { command: ["sleep", "20"] }));
  await pass(sim, 300_000);
  while (sim.invariants.running.length === 0) await pass(sim, 1_000);
  expect(countCalls(sim, "StartContainer")).toBeGreaterThan(1);
  const { runtime } = sim.machine;
  const stats = runtime.containers.map(({ place: { id } }) => ({ attributes: { id } }));
  Object.assign(runtime, { listContainerStats: () => Promise.resolve(stats) });
  // Of two with one name there would be two of each metric, and the whole page would be refused.
  const summary = await sim.clock.run(readSummary(sim));
  const containers = summary.pods.flatMap((pod) => pod.containers);
  expect(stats.length).toBeGreaterThan(1);
  expect(containers.map(({ name }) => name)).toEqual(["main"]);
});

test("a pod with a sidecar leaves Pending though no event comes (kubernetes #133372)", async () => {
  const { sim, cluster } = quietCluster();
  sim.machine.events.emit = () => undefined;
  const initContainers = [
    plainContainer("proxy", { restartPolicy: "Always" }),
    plainContainer("first", { command: ["sleep", "1"] }),
  ];
  const pod = create(sim, cluster, plainPod("web", {}, { initContainers }));
  await pass(sim, 70_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["proxy", "main"]);
  expect(cluster.find("web")?.status?.phase).toBe("Running");
});

test.each(["containerStatus", "podSandboxStatus"] as const)(
  "a node stays ready, and its other pods come and go, while %s of one pod hangs (kubernetes #94829)",
  async (method) => {
    const { sim, cluster } = quietCluster();
    const { runtime } = sim.machine;
    create(sim, cluster, plainPod("sick"));
    await pass(sim, 5_000);
    const ids = new Set(
      [...runtime.containers.map(({ place }) => place), ...runtime.sandboxes].map(({ id }) => id),
    );
    hang(sim, method, ids);
    const [sick] = sim.invariants.running;
    sick?.end(1);
    const ready = new Set<string | undefined>();
    for (let minute = 0; minute < 12; minute += 1) {
      // Also an agent that knows nothing of the pod yet.
      if (minute === 6) sim.killAgent("while a pod hangs", 500);
      const name = `web-${minute}`;
      const pod = create(sim, cluster, plainPod(name));
      await pass(sim, 10_000);
      expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
      expect(stateInApi(cluster, name).running).toBeDefined();
      await cluster.remove(name, false);
      await pass(sim, 5_000);
      expect(cluster.find(name)).toBeUndefined();
      await pass(sim, 45_000);
      ready.add(await readyOfNode(sim));
    }
    expect([...ready]).toEqual(["True"]);
  },
);

/** As a runtime that never answers about some of what it has. */
function hang(
  { machine: { runtime } }: Simulation,
  method: "containerStatus" | "podSandboxStatus",
  ids: ReadonlySet<string>,
): void {
  const read = runtime[method].bind(runtime);
  const hanging = (id: string, given: AbortSignal): Promise<never> | ReturnType<typeof read> =>
    ids.has(id) ? new Promise<never>(() => undefined) : read(runtimeContainerId(id), given);
  Object.assign(runtime, { [method]: hanging });
}

async function readyOfNode(sim: Simulation): Promise<string | undefined> {
  if (sim.cluster === undefined) return undefined;
  const node = await ask<Node>(sim, sim.cluster, {
    method: "GET",
    path: "/api/v1/nodes/sim-node",
  });
  return node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

async function readSummary({ agent }: Simulation): Promise<Summary> {
  if (agent === undefined) throw new Error("no agent runs");
  return agent.stats.summary({}, signal);
}
