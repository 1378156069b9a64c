import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { CallRecorder } from "./support/agent-call-recorder.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, PodChanges, waitForPod } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { type RuntimeWorld, startRuntimeWorld } from "./support/runtime-world.ts";

/** Pods in all the states that a restarted agent might disturb. */
const manifests = {
  plain: podManifest("plain"),
  probed: podManifest("probed", {
    initContainers: [
      shell("prepare", "true"),
      shell("beside", untilStopped, { restartPolicy: "Always" }),
    ],
    containers: [
      shell("main", untilStopped, {
        startupProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
        readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
      }),
    ],
    volumes: [{ name: "scratch", emptyDir: {} }],
  }),
  // Its readiness is asked seldom: a restarted agent must remember it until then.
  seldom: podManifest("seldom", {
    containers: [
      shell("main", untilStopped, {
        readinessProbe: { exec: { command: ["true"] }, periodSeconds: 5 },
      }),
    ],
  }),
  succeeded: podManifest("succeeded", {
    restartPolicy: "Never",
    containers: [shell("main", "exit 0")],
  }),
  failed: podManifest("failed", { restartPolicy: "Never", containers: [shell("main", "exit 9")] }),
};

async function runAll(world: AgentWorld): Promise<readonly Pod[]> {
  for (const [name, text] of Object.entries(manifests)) world.write(`${name}.json`, text);
  const isJob = ({ spec }: Pod): boolean => spec.restartPolicy === "Never";
  const isThere = (pod: Pod): boolean => (isJob(pod) ? hasEnded(pod) : isReady(pod));
  const names = Object.keys(manifests).map((name) => world.podName(name));
  return Promise.all(names.map((name) => waitForPod(world.client, name, isThere)));
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** What the agent says of its pods. When it last read a manifest is not a change of the pod. */
async function readPods(world: AgentWorld): Promise<unknown> {
  const { items } = await world.client.listPods(undefined, {}, AbortSignal.timeout(60_000));
  return items.map(news);
}

function news({ metadata, status }: Pod): unknown {
  const { name, uid, creationTimestamp } = metadata;
  return { name, uid, creationTimestamp, status };
}

/** Resolves when an agent that was started after `sinceMs` has synced every pod that runs. */
async function untilLookedAt(
  world: AgentWorld,
  pods: readonly Pod[],
  sinceMs: number,
): Promise<void> {
  for (const pod of pods.filter((one) => !hasEnded(one))) {
    await vi.waitFor(
      async () => {
        const { syncs } = await world.client.explain(pod.metadata.uid, AbortSignal.timeout(60_000));
        expect(syncs[0]?.startedAtMs).toBeGreaterThan(sinceMs);
      },
      { timeout: 60_000, interval: 50 },
    );
  }
}

async function processesOf(world: AgentWorld, pods: readonly Pod[]): Promise<unknown> {
  const found = pods.map(async ({ metadata, status }) => {
    const ids = await world.containerIds(metadata.uid);
    const isLive = status?.phase === "Running";
    const pids = isLive ? [world.pidOf(metadata.uid, ids["main"] ?? "")] : [];
    return { name: metadata.name, ids, pids };
  });
  return Promise.all(found);
}

describe("an agent that is killed and started again", () => {
  let runtimeWorld: RuntimeWorld;
  let recorder: CallRecorder;
  let world: AgentWorld;
  beforeAll(async () => {
    runtimeWorld = await startRuntimeWorld({ network: 3 });
    const socket = join(runtimeWorld.dataDir, "recorder.sock");
    recorder = await CallRecorder.start(socket, runtimeWorld.containerd.paths.socket);
    world = await AgentWorld.create(3, recorder.endpoint);
    await world.up();
  });
  afterAll(async () => {
    await world.close();
    await recorder.close();
    await runtimeWorld.close();
  });

  test("makes no call that changes anything, and changes no status", async () => {
    const pods = await runAll(world);
    expect(recorder.changingCalls).toContain("RunPodSandbox");
    const before = { pods: await readPods(world), processes: await processesOf(world, pods) };
    await world.agent.stop("SIGKILL");
    recorder.forget();
    const sinceMs = Date.now();
    await world.up();
    const changes = new PodChanges(world.client);
    await untilLookedAt(world, pods, sinceMs);
    // The restarted agent has probed several times since: what it finds is what it knew.
    const probes = (): readonly string[] => recorder.calls.filter((name) => name === "ExecSync");
    await vi.waitFor(() => expect(probes().length).toBeGreaterThan(4), { timeout: 60_000 });
    expect(recorder.changingCalls).toEqual([]);
    expect(recorder.calls).toContain("ListContainers");
    expect(await readPods(world)).toEqual(before.pods);
    expect(await processesOf(world, pods)).toEqual(before.processes);
    const seen = await changes.stop();
    expect(seen.filter(({ type }) => type !== "ADDED").map(({ pod }) => news(pod))).toEqual([]);
  });
});
