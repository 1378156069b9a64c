// What CRI calls that timed out leave behind, and what a pod does beside it.
import { expect, test } from "vitest";
import { OutlivedCall } from "../../../src/drivers/sim/sim-call-gate.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import type { RecordedStep } from "../../../src/ports/sync-record.ts";
import type { Simulation } from "../simulator/simulation.ts";
import { countCalls, isReady, pass, plainPod, quietNode, write } from "./scenario.ts";

const { signal } = new AbortController();
const lateMs = 60_000;

/** A pod that runs in its second sandbox, while the call for its first one is completed late. */
async function podWithLeftover(sim: Simulation): Promise<Pod> {
  let calls = 0;
  sim.machine.runtime.intercept = (method, phase) => {
    if (method !== "RunPodSandbox" || phase !== "before" || calls++ > 0) return;
    const answer = new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
    throw new OutlivedCall(answer, sim.clock.sleep(lateMs, signal));
  };
  const pod = write(sim, "web", plainPod("web"));
  await pass(sim, lateMs - 10_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  return pod;
}

async function stepsOf(sim: Simulation, pod: Pod): Promise<readonly RecordedStep[]> {
  const explained = await sim.agent?.view.explain(pod.metadata.uid, signal);
  return (explained?.syncs ?? []).flatMap(({ steps }) => steps);
}

test("a leftover sandbox that cannot be stopped keeps its pod from nothing, and why names it", async () => {
  const sim = quietNode();
  const { runtime } = sim.machine;
  const pod = await podWithLeftover(sim);
  const used = new Set(runtime.sandboxes.map(({ id }) => id));
  const stop = runtime.stopPodSandbox.bind(runtime);
  runtime.stopPodSandbox = (id, given) =>
    used.has(id)
      ? stop(id, given)
      : Promise.reject(new RuntimeError("StopPodSandbox", "Unknown", "the network plugin hangs"));
  await pass(sim, 30_000);
  expect(runtime.sandboxes).toHaveLength(2);
  expect(isReady(sim, "web")).toBe(true);
  runtime.findContainer("main")?.end(1);
  await pass(sim, 30_000);
  expect(countCalls(sim, "StartContainer")).toBe(2);
  expect(isReady(sim, "web")).toBe(true);
  expect(sim.shownPods()[0]?.status?.containerStatuses?.[0]?.restartCount).toBe(1);
  const failed = (await stepsOf(sim, pod)).find(({ outcome }) => outcome === "failed");
  expect(failed?.action).toContain("stop sandbox");
  expect(failed?.because).toContain("timed out and completed later");
  expect(failed?.detail).toContain("the network plugin hangs");
});

test("a call that hangs while it ends a leftover sandbox holds up nothing else of its pod, and is made once", async () => {
  const sim = quietNode();
  const { runtime } = sim.machine;
  const pod = await podWithLeftover(sim);
  const used = new Set(runtime.sandboxes.map(({ id }) => id));
  const stop = runtime.stopPodSandbox.bind(runtime);
  let answer: () => void = () => undefined;
  let hanging = 0;
  runtime.stopPodSandbox = async (id, given) => {
    if (used.has(id)) return stop(id, given);
    hanging += 1;
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return stop(id, given);
  };
  await pass(sim, 60_000);
  expect(hanging).toBe(1);
  runtime.findContainer("main")?.end(1);
  await pass(sim, 30_000);
  expect(isReady(sim, "web")).toBe(true);
  expect(sim.shownPods()[0]?.status?.containerStatuses?.[0]?.restartCount).toBe(1);
  const failed = (await stepsOf(sim, pod)).find(({ outcome }) => outcome === "failed");
  expect(failed?.detail).toContain("has not answered for 5 s");
  expect(hanging).toBe(1);
  answer();
  await pass(sim, 30_000);
  expect(runtime.sandboxes.filter(({ isReady: isUp }) => isUp)).toHaveLength(1);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
});

test("a leftover sandbox is stopped, and nothing else of the pod", async () => {
  const sim = quietNode();
  const pod = await podWithLeftover(sim);
  sim.changes.length = 0;
  await pass(sim, 60_000);
  expect(sim.changes.map((call) => call.split(" ")[0])).toEqual(["stopPodSandbox"]);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
});

test("containers that run outside the pod's cgroup are stopped, and why names that and its failure", async () => {
  const sim = quietNode();
  const { runtime, cgroups } = sim.machine;
  const pod = write(sim, "web", plainPod("web"));
  await pass(sim, 10_000);
  const path = cgroups.paths.find((each) => each.includes(pod.metadata.uid)) ?? "";
  await cgroups.remove(path);
  const stops: string[] = [];
  runtime.intercept = (method, phase) => {
    if (!/^Stop(Container|PodSandbox)$/.test(method) || phase !== "before") return;
    stops.push(`${method} ${cgroups.paths.includes(path) ? "inside" : "outside"}`);
    if (stops.length <= 2) throw new RuntimeError(method, "Unknown", "the shim hangs");
  };
  await pass(sim, 150_000);
  // No cgroup is made for containers that would stay outside of it.
  expect(stops.slice(0, 4)).toEqual([
    "StopContainer outside",
    "StopPodSandbox outside",
    "StopContainer outside",
    "StopPodSandbox outside",
  ]);
  const because = "its containers run outside the pod's cgroup";
  const failed = (await stepsOf(sim, pod)).find(({ outcome }) => outcome === "failed");
  expect(failed).toMatchObject({ action: "stop container main", because });
  expect(failed?.detail).toContain("the shim hangs");
  expect(cgroups.paths).toContain(path);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  expect(countCalls(sim, "StartContainer")).toBe(2);
  const done = (await stepsOf(sim, pod)).filter((step) => step.because === because);
  expect(done[0]).toMatchObject({ action: "stop container main", outcome: "done" });
});

test("a container that a dead agent's call starts while the next agent removes it ends, and the pod gets another", async () => {
  const sim = quietNode();
  const { runtime } = sim.machine;
  const delays = new Map([
    ["StartContainer", 300],
    ["RemoveContainer", 1000],
  ]);
  runtime.intercept = (method, phase) =>
    phase === "before" ? sim.clock.sleep(delays.get(method) ?? 0, signal) : undefined;
  const pod = write(sim, "web", plainPod("web"));
  sim.invariants.healthy.add(pod.metadata.uid);
  while (runtime.containers.length === 0) await pass(sim, 10);
  sim.killAgent("before its container has started", 10);
  await pass(sim, 20_000);
  expect(countCalls(sim, "StartContainer")).toBe(2);
  expect(countCalls(sim, "RemoveContainer")).toBe(1);
  expect(isReady(sim, "web")).toBe(true);
});
