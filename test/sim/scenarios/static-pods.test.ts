// Races of static pods that kubelets have lost.
import { expect, test } from "vitest";
import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import { leftovers, unconverged } from "../simulator/convergence.ts";
import { inlineDriver } from "../simulator/storage/storage-objects.ts";
import { withMethods } from "../simulator/with-methods.ts";
import { countCalls, pass, plainPod, quietCluster, quietNode, write } from "./scenario.ts";

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

test.each([1, 300, 3_000, 9_000, 60_000])(
  "a static pod that is removed and put back %i ms later runs again (kubernetes #104648)",
  async (awayMs) => {
    const sim = quietNode();
    const manifest = plainPod("web", { command: ["serve", "8"] });
    const pod = write(sim, "web", manifest);
    await pass(sim, 5_000);
    const [first] = sim.invariants.running;
    sim.manifests.remove("web");
    await pass(sim, awayMs);
    // Its UID comes from its content: it is the same pod again.
    expect(write(sim, "web", manifest).metadata.uid).toBe(pod.metadata.uid);
    sim.invariants.shown.noteReborn(pod.metadata.uid);
    await pass(sim, 30_000);
    expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
    expect(sim.invariants.running[0]?.place.id).not.toBe(first?.place.id);
    expect(await unconverged(sim)).toEqual([]);
  },
);

test("a static pod that is removed and put back can be resized, and keeps its size", async () => {
  const { sim, cluster } = quietCluster();
  const withMemory = (memory: string) =>
    plainPod("web", { command: ["serve", "8"], resources: { limits: { memory } } });
  const { uid } = write(sim, "web", withMemory("128Mi")).metadata;
  await pass(sim, 5_000);
  sim.manifests.remove("web");
  await pass(sim, 300);
  write(sim, "web", withMemory("128Mi"));
  sim.invariants.shown.noteReborn(uid);
  await pass(sim, 30_000);
  expect(write(sim, "web", withMemory("64Mi")).metadata.uid).toBe(uid);
  await pass(sim, 30_000);
  const memory = () =>
    sim.shownPods().find(({ metadata }) => metadata.uid === uid)?.status?.containerStatuses?.[0]
      ?.resources?.limits?.["memory"];
  expect(memory()).toBe("64Mi");
  const changes = sim.changes.length;
  // The next agent knows only what was written down: it grants nothing before it has received all pods.
  cluster.isDown = true;
  sim.killAgent("with nothing to do", 500);
  await pass(sim, 60_000);
  expect(sim.changes.slice(changes)).toEqual([]);
  expect(memory()).toBe("64Mi");
});

test("the mirror pod of a static pod never shows its successor", async () => {
  const { sim, cluster } = quietCluster();
  const mirrorUids = new Set<string | undefined>();
  // Which request comes first is a matter of luck. The API server is held to its promises at every step: no count falls.
  for (const code of ["1", "2", "3", "4", "5", "6", "7", "8"]) {
    write(sim, "web", plainPod("web", { command: ["exit", code] }));
    await pass(sim, 10_000);
    const mirror = cluster.find("web-sim-node");
    mirrorUids.add(mirror?.metadata.uid);
    expect(mirror?.status?.containerStatuses?.[0]?.restartCount).toBeGreaterThan(0);
  }
  expect(mirrorUids.size).toBe(8);
});

test("a static pod with a UID of its own that is edited and put back runs as it is written (kubernetes #104648)", async () => {
  const sim = quietNode();
  const withUid = (image: string) => {
    const manifest = plainPod("web", { image, command: ["serve", "8"] });
    const metadata = { ...manifest.metadata, uid: "11111111-2222-3333-4444-555555555555" };
    return { ...manifest, metadata };
  };
  const pod = write(sim, "web", withUid("app:1"));
  await pass(sim, 5_000);
  sim.manifests.remove("web");
  await pass(sim, 500);
  write(sim, "web", withUid("tools:1"));
  sim.invariants.shown.noteReborn(pod.metadata.uid);
  await pass(sim, 60_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  expect(sim.invariants.running[0]?.config.image?.userSpecifiedImage).toBe("tools:1");
});

test("a static pod that is edited before it could start gets the limits of the edit", async () => {
  const sim = quietNode();
  const { runtime, cgroups } = sim.machine;
  const withMemory = (memory: string) => {
    const manifest = plainPod("web", { resources: { limits: { memory } } });
    const metadata = { ...manifest.metadata, uid: "11111111-2222-3333-4444-555555555555" };
    return { ...manifest, metadata };
  };
  let isBroken = true;
  runtime.intercept = (method, phase) => {
    if (method !== "RunPodSandbox" || phase !== "before" || !isBroken) return;
    throw new RuntimeError(method, "Unknown", "no network yet");
  };
  const pod = write(sim, "web", withMemory("64Mi"));
  await pass(sim, 5_000);
  write(sim, "web", withMemory("256Mi"));
  isBroken = false;
  await pass(sim, 120_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  const path = cgroups.paths.find((candidate) => candidate.endsWith(pod.metadata.uid)) ?? "";
  expect(cgroups.read(path).memoryBytes).toBe(256n * 1024n * 1024n);
});

test("the end of a static pod is tried until it succeeds, and the pod can come back (kubernetes #126021)", async () => {
  const sim = quietNode();
  const { runtime } = sim.machine;
  const manifest = plainPod("web");
  const pod = write(sim, "web", manifest);
  await pass(sim, 5_000);
  let isBroken = true;
  runtime.intercept = (method, phase) => {
    if (method !== "StopPodSandbox" || phase !== "before" || !isBroken) return;
    throw new RuntimeError(method, "Unknown", "failed to kill: device or resource busy");
  };
  sim.manifests.remove("web");
  await pass(sim, 120_000);
  expect(runtime.sandboxes[0]?.isReady).toBe(true);
  isBroken = false;
  await pass(sim, 60_000);
  expect(await leftovers(sim)).toEqual([]);
  write(sim, "web", manifest);
  await pass(sim, 10_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
});

test("two static pods that exchange their names wait for each other's end (kubernetes #126021)", async () => {
  const sim = quietNode();
  write(sim, "one", plainPod("alpha", { command: ["serve", "4"] }));
  write(sim, "two", plainPod("beta", { command: ["serve", "8"] }));
  await pass(sim, 5_000);
  const beta = write(sim, "one", plainPod("beta"));
  const alpha = write(sim, "two", plainPod("alpha"));
  // That no two pods of one name run is held at every step.
  await pass(sim, 30_000);
  expect(sim.invariants.namesOf(alpha.metadata.uid)).toEqual(["main"]);
  expect(sim.invariants.namesOf(beta.metadata.uid)).toEqual(["main"]);
  expect(await unconverged(sim)).toEqual([]);
});

test("a static pod that is edited again and again while it ends runs as it was written last (kubernetes #107733)", async () => {
  const sim = quietNode();
  write(sim, "web", plainPod("web", { command: ["serve", "8"] }));
  await pass(sim, 5_000);
  for (const image of ["app:2", "app:3", "app:4", "app:5"]) {
    write(sim, "web", plainPod("web", { image, command: ["serve", "8"] }));
    await pass(sim, 700);
  }
  const last = write(sim, "web", plainPod("web", { image: "app:6" }));
  await pass(sim, 30_000);
  expect(sim.invariants.namesOf(last.metadata.uid)).toEqual(["main"]);
  // The first one and the last one; those between them were never wanted for long enough.
  expect(countCalls(sim, "CreateContainer")).toBe(2);
  expect(await unconverged(sim)).toEqual([]);
});

test("a static pod that was edited while no agent ran starts once, with the API server away (kubernetes #112814)", async () => {
  const sim = quietNode({ inCluster: true });
  const old = write(sim, "web", plainPod("web", { command: ["serve", "8"] }));
  await pass(sim, 5_000);
  if (sim.cluster !== undefined) sim.cluster.isDown = true;
  sim.killAgent("with the API server away", 2_000);
  const edited = write(sim, "web", plainPod("web", { image: "tools:1" }));
  // Both would want one port: that they do not run at once is held at every step.
  await pass(sim, 60_000);
  expect(sim.invariants.namesOf(old.metadata.uid)).toEqual([]);
  expect(sim.invariants.namesOf(edited.metadata.uid)).toEqual(["main"]);
});

test("the volumes of a static pod that had ended when the agent was killed are unmounted by the next one", async () => {
  const sim = quietNode({ hasStorage: true });
  const { storage } = sim;
  if (storage === undefined) throw new Error("the node has no storage");
  const mount = { name: "data", mountPath: "/data" };
  const volumes = [{ name: "data", csi: { driver: inlineDriver } }];
  const spec = { restartPolicy: "Never", volumes } as const;
  write(sim, "job", plainPod("job", { volumeMounts: [mount] }, spec));
  await pass(sim, 5_000);
  const published = (): number =>
    storage.volumes.reduce((sum, { publishedAt }) => sum + publishedAt.size, 0);
  expect(published()).toBe(1);
  storage.faults.next = () => ({ kind: "hung", forMs: 600_000, isDone: false });
  sim.machine.runtime.findContainer("main")?.end(0);
  await pass(sim, 2_000);
  expect(sim.shownPods()[0]?.status?.phase).toBe("Succeeded");
  sim.killAgent("while the driver hangs", 1_000);
  storage.faults.next = () => undefined;
  storage.faults.release();
  await pass(sim, 10_000);
  expect(published()).toBe(0);
});

test("the sandbox of a static pod that had ended when the agent was killed is stopped by the next one", async () => {
  const sim = quietNode();
  const { runtime } = sim.machine;
  write(sim, "job", plainPod("job", {}, { restartPolicy: "Never" }));
  await pass(sim, 5_000);
  runtime.intercept = (method, phase) => {
    if (method !== "StopPodSandbox" || phase !== "before") return;
    throw new RuntimeError(method, "Unknown", "the network plugin hangs");
  };
  runtime.findContainer("main")?.end(0);
  await pass(sim, 2_000);
  expect(sim.shownPods()[0]?.status?.phase).toBe("Succeeded");
  sim.killAgent("with its sandbox still there", 1_000);
  runtime.intercept = () => undefined;
  await pass(sim, 10_000);
  expect(runtime.sandboxes.map(({ isReady }) => isReady)).toEqual([false]);
});

/** The statuses of pods take ten seconds to be removed. */
function withSlowRemovals(ports: AgentPorts): AgentPorts {
  const files = withMethods(ports.files, (name, method) => async (...args) => {
    const answer: unknown = await method(...args);
    const isRemoval = name === "removeFile" && String(args[0]).includes("/statuses/");
    if (isRemoval) await ports.clock.sleep(10_000, new AbortController().signal);
    return answer;
  });
  return { ...ports, files };
}

const greedy = plainPod("greedy", { resources: { requests: { cpu: "1000" } } });
const refused = { phase: "Failed", reason: "OutOfcpu" };

test("a static pod that comes back while what it left is being removed, and is refused, is shown as refused", async () => {
  const sim = quietNode({ sabotage: withSlowRemovals });
  write(sim, "greedy", greedy);
  await pass(sim, 5_000);
  sim.manifests.remove("greedy");
  await pass(sim, 3_000);
  write(sim, "greedy", greedy);
  await pass(sim, 60_000);
  expect(sim.shownPods()).toMatchObject([{ status: refused }]);
});

test("and one that goes again before that has ended leaves nothing, and is shown as refused when it comes a third time", async () => {
  const { sim } = quietCluster({ sabotage: withSlowRemovals });
  await pass(sim, 5_000);
  write(sim, "greedy", greedy);
  await pass(sim, 5_000);
  sim.manifests.remove("greedy");
  await pass(sim, 3_000);
  write(sim, "greedy", greedy);
  await pass(sim, 1_000);
  sim.manifests.remove("greedy");
  await pass(sim, 60_000);
  expect(await leftovers(sim)).toEqual([]);
  write(sim, "greedy", greedy);
  await pass(sim, 60_000);
  expect(sim.shownPods()).toMatchObject([{ status: refused }]);
});
