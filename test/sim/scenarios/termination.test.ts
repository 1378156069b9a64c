// Pods that end: nothing may call them ended before they are, and nothing may keep them from it.

import { expect, test } from "vitest";
import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import { runtimeContainerId } from "../../../src/model/ids.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { RuntimeError } from "../../../src/model/runtime-error.ts";
import { leftovers } from "../simulator/convergence.ts";
import {
  ask,
  create,
  pass,
  plainContainer,
  plainPod,
  quietCluster,
  quietNode,
  stateInApi,
  write,
} from "./scenario.ts";

const podPath = "/api/v1/namespaces/default/pods/web";

test("a pod past its deadline stays in the API server until its containers have ended (kubernetes #88613)", async () => {
  const { sim, cluster } = quietCluster();
  const limits = { activeDeadlineSeconds: 30, terminationGracePeriodSeconds: 600 };
  const pod = create(sim, cluster, plainPod("web", { command: ["serve", "120"] }, limits));
  await pass(sim, 60_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  // Any other phase would let the API server delete it at once.
  expect(cluster.find("web")?.status?.phase).toBe("Running");
  await cluster.remove("web", false);
  await pass(sim, 60_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  expect(cluster.find("web")).toBeDefined();
  await pass(sim, 60_000);
  expect(cluster.find("web")).toBeUndefined();
  expect(await leftovers(sim)).toEqual([]);
});

test("a pod that was deleted before the agent saw it ends, though the node has no room for it", async () => {
  const { sim, cluster } = quietCluster();
  await pass(sim, 5_000);
  sim.killAgent("before the pod comes", 20_000);
  create(sim, cluster, plainPod("web", { resources: { requests: { cpu: "1000" } } }));
  await cluster.remove("web", false);
  await pass(sim, 60_000);
  expect(cluster.find("web")).toBeUndefined();
  expect(await leftovers(sim)).toEqual([]);
});

test("the containers of an evicted pod are followed to their end (kubernetes #98742)", async () => {
  const pressure = { isOn: false };
  const { sim, cluster } = quietCluster({ sabotage: shortOfMemory(pressure) });
  const pod = create(
    sim,
    cluster,
    plainPod("web", { command: ["stubborn"] }, { terminationGracePeriodSeconds: 600 }),
  );
  await pass(sim, 5_000);
  pressure.isOn = true;
  const phasesWhileRunning = new Set<string | undefined>();
  for (let second = 0; second < 60; second += 1) {
    await pass(sim, 1_000);
    const isRunning = sim.invariants.namesOf(pod.metadata.uid).length > 0;
    if (isRunning) phasesWhileRunning.add(cluster.find("web")?.status?.phase);
  }
  expect([...phasesWhileRunning]).toEqual(["Running"]);
  expect(cluster.find("web")?.status).toMatchObject({ phase: "Failed", reason: "Evicted" });
  expect(stateInApi(cluster, "web").terminated?.exitCode).toBe(137);
});

test("a pod whose grace period becomes 0 ends at once though its hook goes on (kubernetes #127339)", async () => {
  const { sim, cluster } = quietCluster();
  const preStop = { exec: { command: ["sleep", "10000000", "preStop"] } };
  const pod = create(
    sim,
    cluster,
    plainPod("web", { lifecycle: { preStop } }, { terminationGracePeriodSeconds: 3600 }),
  );
  const metadata = { finalizers: ["example.org/held"] };
  await ask(sim, cluster, { method: "PATCH", path: podPath, body: { metadata } });
  await pass(sim, 5_000);
  await cluster.remove("web", false);
  await pass(sim, 60_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  // The finalizer keeps it in the API server, as in the report.
  const body = { gracePeriodSeconds: 0 };
  await ask(sim, cluster, { method: "DELETE", path: podPath, body });
  await pass(sim, 6_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual([]);
  expect(stateInApi(cluster, "web").terminated).toBeDefined();
});

test("a hook that never ends is given up with the grace period (kubernetes #127339)", async () => {
  const { sim, cluster } = quietCluster();
  const preStop = { exec: { command: ["sleep", "10000000", "preStop"] } };
  const pod = create(sim, cluster, plainPod("web", { lifecycle: { preStop } }));
  await pass(sim, 5_000);
  await cluster.remove("web", false);
  await pass(sim, 25_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
  await pass(sim, 15_000);
  expect(cluster.find("web")).toBeUndefined();
  expect(await leftovers(sim)).toEqual([]);
});

test("a container that ended is shown so while another of its pod still ends (kubernetes #106896)", async () => {
  const { sim, cluster } = quietCluster();
  const containers = [plainContainer("main"), plainContainer("slow", { command: ["stubborn"] })];
  const pod = create(sim, cluster, plainPod("web", {}, { containers }));
  await pass(sim, 5_000);
  await cluster.remove("web", false);
  await pass(sim, 5_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["slow"]);
  expect(stateInApi(cluster, "web").terminated?.exitCode).toBe(0);
  expect(stateInApi(cluster, "web", "slow").running).toBeDefined();
  expect(cluster.find("web")?.status?.phase).toBe("Running");
  await pass(sim, 40_000);
  expect(cluster.find("web")).toBeUndefined();
});

test("a client that watches the agent sees at once that a pod must end, though nothing else of it changes", async () => {
  const { sim, cluster } = quietCluster();
  create(sim, cluster, plainPod("web", { command: ["stubborn"] }));
  await pass(sim, 5_000);
  const seen: boolean[] = [];
  const isEnding = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
  sim.agent?.view.watchPods(({ pod }) => seen.push(isEnding(pod)), new AbortController().signal);
  await cluster.remove("web", false);
  await pass(sim, 1_000);
  expect(seen).toContain(true);
});

test("a pod whose volume is busy leaves the API server when it no longer is (kubernetes #51835)", async () => {
  const { sim, cluster } = quietCluster();
  const volumes = [{ name: "cache", emptyDir: { medium: "Memory" } }];
  const volumeMounts = [{ name: "cache", mountPath: "/cache" }];
  create(sim, cluster, plainPod("web", { volumeMounts }, { volumes }));
  await pass(sim, 5_000);
  const { mounts } = sim.machine;
  const unmount = mounts.unmount.bind(mounts);
  mounts.unmount = () => Promise.reject(new Error("EBUSY: resource busy or locked, umount"));
  await cluster.remove("web", false);
  await pass(sim, 300_000);
  expect(sim.invariants.running).toEqual([]);
  expect(cluster.find("web")).toBeDefined();
  mounts.unmount = unmount;
  // One that fails again and again is tried every two minutes.
  await pass(sim, 125_000);
  expect(await leftovers(sim)).toEqual([]);
});

test("a pod ends whose containers the runtime refuses to stop or has lost (kubernetes #51835)", async () => {
  const { sim, cluster } = quietCluster();
  const { runtime } = sim.machine;
  create(sim, cluster, plainPod("web", { command: ["serve", "5"] }));
  await pass(sim, 5_000);
  let refused = 0;
  runtime.intercept = (method, phase) => {
    if (!method.startsWith("Stop") || phase !== "before" || refused === 10) return;
    refused += 1;
    throw new RuntimeError(method, "Unknown", "Cannot stop container: operation timeout");
  };
  await cluster.remove("web", false);
  await pass(sim, 30_000);
  // An operator cleans up by hand while the agent tries.
  const [lost] = sim.invariants.running;
  if (lost !== undefined)
    await runtime.removeContainer(runtimeContainerId(lost.place.id), new AbortController().signal);
  await pass(sim, 120_000);
  expect(refused).toBeGreaterThan(1);
  expect(await leftovers(sim)).toEqual([]);
});

test.each([
  { state: "pending", image: "lost:1", phase: "Failed" },
  { state: "running", image: "app:1", phase: "Succeeded" },
])(
  "a $state pod that is deleted ends in the phase $phase, whatever finalizer still holds it (kubernetes #115331, #116410)",
  async ({ image, phase }) => {
    const { sim, cluster } = quietCluster();
    sim.machine.runtime.refusePull = () =>
      new RuntimeError("PullImage", "Unknown", "no such image");
    create(sim, cluster, plainPod("web", { image }));
    const metadata = { finalizers: ["example.org/held"] };
    await ask(sim, cluster, { method: "PATCH", path: podPath, body: { metadata } });
    await pass(sim, 20_000);
    await cluster.remove("web", false);
    await pass(sim, 20_000);
    // Who counts the pods of a job waits for this before it replaces one.
    expect(cluster.find("web")?.status?.phase).toBe(phase);
    expect(sim.invariants.running).toEqual([]);
  },
);

test("a pod that is deleted by force is ended though the runtime fails meanwhile, and its name is free (kubernetes #113145)", async () => {
  const { sim, cluster } = quietCluster();
  create(sim, cluster, plainPod("web", { command: ["stubborn"] }));
  await pass(sim, 5_000);
  let isBroken = true;
  sim.machine.runtime.intercept = (method, phase) => {
    if (method !== "StopPodSandbox" || phase !== "before" || !isBroken) return;
    throw new RuntimeError(method, "DeadlineExceeded", "context deadline exceeded");
  };
  await cluster.remove("web", true);
  await pass(sim, 20_000);
  const next = create(sim, cluster, plainPod("web"));
  await pass(sim, 10_000);
  expect(sim.invariants.namesOf(next.metadata.uid)).toEqual([]);
  isBroken = false;
  await pass(sim, 60_000);
  expect(sim.invariants.namesOf(next.metadata.uid)).toEqual(["main"]);
  expect(sim.invariants.running).toHaveLength(1);
  expect(stateInApi(cluster, "web").running).toBeDefined();
});

test("sidecars are stopped though one of them never started (kubernetes #125880)", async () => {
  const { sim, cluster } = quietCluster();
  const startupProbe = { exec: { command: ["exit", "1"] }, failureThreshold: 1000 };
  const initContainers = [
    plainContainer("first", { restartPolicy: "Always", command: ["serve", "2"] }),
    plainContainer("second", { restartPolicy: "Always", command: ["serve", "2"], startupProbe }),
    plainContainer("third", { restartPolicy: "Always" }),
  ];
  const limits = { initContainers, terminationGracePeriodSeconds: 600 };
  const pod = create(sim, cluster, plainPod("web", {}, limits));
  await pass(sim, 10_000);
  expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["first", "second"]);
  await cluster.remove("web", false);
  await pass(sim, 15_000);
  expect(cluster.find("web")).toBeUndefined();
  expect(await leftovers(sim)).toEqual([]);
});

test.each(["mountTmpfs", "unmount"] as const)(
  "a volume whose %s hangs holds up no other pod, nor a new agent (kubernetes #31272, #90593, #122318)",
  async (method) => {
    const { sim, cluster } = quietCluster();
    const { mounts } = sim.machine;
    const volumes = [{ name: "share", emptyDir: { medium: "Memory" } }];
    const volumeMounts = [{ name: "share", mountPath: "/share" }];
    const sick = plainPod("sick", { volumeMounts }, { volumes });
    const work = mounts[method].bind(mounts);
    mounts[method] = () => new Promise<never>(() => undefined);
    create(sim, cluster, sick);
    await pass(sim, 5_000);
    await cluster.remove("sick", method === "unmount");
    for (const name of ["one", "two", "three"]) {
      const pod = create(sim, cluster, plainPod(name));
      await pass(sim, 10_000);
      expect(sim.invariants.namesOf(pod.metadata.uid)).toEqual(["main"]);
      await cluster.remove(name, false);
      await pass(sim, 10_000);
      expect(cluster.find(name)).toBeUndefined();
      sim.killAgent("while a volume hangs", 500);
      await pass(sim, 5_000);
    }
    mounts[method] = work;
    sim.killAgent("when the volume answers again", 500);
    await pass(sim, 240_000);
    expect(await leftovers(sim)).toEqual([]);
  },
);

test("nothing is removed of an unwanted pod while the runtime does not report it", async () => {
  const sim = quietNode();
  const { runtime, files, cgroups } = sim.machine;
  const { uid } = write(sim, "web", plainPod("web")).metadata;
  await pass(sim, 5_000);
  const read = runtime.podSandboxStatus.bind(runtime);
  runtime.podSandboxStatus = () => new Promise<never>(() => undefined);
  sim.killAgent("while the manifest goes", 1_000);
  sim.manifests.remove("web");
  // Also dead containers and logs have been collected by then.
  await pass(sim, 90_000);
  // It still runs, in its folder and its cgroup, and writes its log.
  expect(sim.invariants.namesOf(uid)).toEqual(["main"]);
  expect(await files.list("/sim/pods")).toEqual([uid]);
  expect(await files.list("/sim-logs")).toEqual([expect.stringContaining(uid)]);
  expect(cgroups.paths.filter((path) => path.includes(uid))).not.toEqual([]);
  runtime.podSandboxStatus = read;
  await pass(sim, 90_000);
  expect(await leftovers(sim)).toEqual([]);
});

test("the log of a pod is removed once, so that of its next life stays", async () => {
  const sim = quietNode();
  const { files, foreignFiles } = sim.machine;
  const { uid } = write(sim, "web", plainPod("web")).metadata;
  await pass(sim, 45_000);
  const remove = foreignFiles.removeTree.bind(foreignFiles);
  const releases: (() => void)[] = [];
  foreignFiles.removeTree = async (path) => {
    if (path.startsWith("/sim-logs/")) {
      await new Promise<void>((resolve) => {
        releases.push(resolve);
      });
    }
    await remove(path);
  };
  sim.manifests.remove("web");
  // Dead containers and logs are collected while the removal hangs.
  await pass(sim, 30_000);
  sim.invariants.shown.noteReborn(uid);
  write(sim, "web", plainPod("web"));
  releases.shift()?.();
  await pass(sim, 10_000);
  expect(sim.invariants.namesOf(uid)).toEqual(["main"]);
  for (const release of releases) release();
  await pass(sim, 10_000);
  expect(await files.list("/sim-logs")).toEqual([expect.stringContaining(uid)]);
});

/** A machine whose memory is all in use while the pressure is on. */
function shortOfMemory(pressure: { readonly isOn: boolean }) {
  return (ports: AgentPorts): AgentPorts => {
    const cgroupStats: AgentPorts["cgroupStats"] = {
      read: async (path, withDetail) => {
        const usage = await ports.cgroupStats.read(path, withDetail);
        if (usage?.memory === undefined || !pressure.isOn) return usage;
        const workingSetBytes = 64 * 1024 ** 3;
        return {
          ...usage,
          memory: { ...usage.memory, workingSetBytes, limitBytes: workingSetBytes },
        };
      },
    };
    return { ...ports, cgroupStats };
  };
}
