import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Container, PodSpec, Probe } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import {
  isReady,
  PodChanges,
  restartsOf,
  waitForPod,
  waitUntilGone,
} from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("the life of a pod", () => {
  let world: AgentWorld;
  let diaries: string;
  beforeAll(async () => {
    world = await AgentWorld.start(2);
    diaries = join(world.folder, "diaries");
    mkdirSync(diaries);
  });
  afterAll(() => world.close());

  const volumeMounts = [{ name: "diaries", mountPath: "/diaries" }];
  const withDiary = (spec: Partial<PodSpec>): Partial<PodSpec> => {
    const note = (container: Container): Container => ({ ...container, volumeMounts });
    return {
      ...spec,
      volumes: [{ name: "diaries", hostPath: { path: diaries } }],
      initContainers: (spec.initContainers ?? []).map(note),
      containers: (spec.containers ?? []).map(note),
    };
  };
  /** What the containers of a pod wrote down, in that order. */
  const diary = (name: string): readonly string[] => {
    const path = join(diaries, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  const startPod = (name: string, spec: Partial<PodSpec>): void =>
    world.write(`${name}.json`, podManifest(name, withDiary(spec)));
  const podWith = (name: string, isReached: (pod: Pod) => boolean): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReached);

  test("starts init containers and sidecars in order, and stops sidecars last and in reverse", async () => {
    const once = (name: string): Container =>
      shell(
        name,
        `echo ${name} starts >> /diaries/order; sleep 0.3; echo ${name} ends >> /diaries/order`,
      );
    const forever = (name: string, more: Partial<Container>): Container => {
      const script = [
        `trap 'sleep 0.3; echo ${name} stops >> /diaries/order; exit 0' TERM`,
        `sleep 0.3; echo ${name} runs >> /diaries/order`,
        "sleep 3600 & wait",
      ];
      return shell(name, script.join("\n"), more);
    };
    const runs = (name: string): Probe => ({
      exec: { command: ["grep", "-q", `${name} runs`, "/diaries/order"] },
      periodSeconds: 1,
    });
    const sidecar = (name: string): Container =>
      forever(name, { startupProbe: runs(name), restartPolicy: "Always" });
    startPod("order", {
      initContainers: [once("first"), sidecar("inner"), once("second"), sidecar("outer")],
      containers: [forever("main", { readinessProbe: runs("main") })],
    });
    const pod = await podWith("order", isReady);
    const started = [
      "first starts",
      "first ends",
      "inner runs",
      "second starts",
      "second ends",
      "outer runs",
      "main runs",
    ];
    expect(diary("order")).toEqual(started);
    world.remove("order.json");
    await waitUntilGone(world.client, pod.metadata.uid);
    expect(diary("order")).toEqual([...started, "main stops", "outer stops", "inner stops"]);
  });

  test("restarts ended containers as the restart policy says", async () => {
    const fails = shell("main", "exit 3");
    const failsOnce = (name: string): Container =>
      shell("main", `test -e /diaries/${name} || { touch /diaries/${name}; exit 4; }`);
    startPod("never", { restartPolicy: "Never", containers: [fails] });
    startPod("never-well", { restartPolicy: "Never", containers: [shell("main", "exit 0")] });
    startPod("on-failure", { restartPolicy: "OnFailure", containers: [failsOnce("on-failure")] });
    startPod("always", { containers: [shell("main", "exit 0")] });
    const hasEnded = ({ status }: Pod): boolean =>
      status?.phase === "Succeeded" || status?.phase === "Failed";
    const [never, neverWell, onFailure, always] = await Promise.all([
      podWith("never", hasEnded),
      podWith("never-well", hasEnded),
      podWith("on-failure", hasEnded),
      podWith("always", (pod) => restartsOf(pod) >= 1),
    ]);
    expect(never.status?.phase).toBe("Failed");
    expect(never.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(3);
    expect(restartsOf(never)).toBe(0);
    expect(neverWell.status?.phase).toBe("Succeeded");
    expect(restartsOf(neverWell)).toBe(0);
    expect(onFailure.status?.phase).toBe("Succeeded");
    expect(restartsOf(onFailure)).toBe(1);
    expect(onFailure.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(4);
    expect(always.status?.phase).toBe("Running");
  });

  test("lets a container end by itself within the grace period", async () => {
    const slow = shell(
      "main",
      "trap 'sleep 3; echo ended >> /diaries/kept; exit 7' TERM; sleep 3600 & wait",
    );
    startPod("kept", { terminationGracePeriodSeconds: 30, containers: [slow] });
    const { metadata } = await podWith("kept", isReady);
    const startedMs = performance.now();
    world.remove("kept.json");
    const last = await waitUntilGone(world.client, metadata.uid);
    expect(performance.now() - startedMs).toBeGreaterThan(2900);
    expect(diary("kept")).toEqual(["ended"]);
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(7);
  });

  test("kills what ignores SIGTERM at the end of the grace period", async () => {
    const deaf = shell("main", "trap '' TERM; sleep 3600");
    startPod("cut", { terminationGracePeriodSeconds: 2, containers: [deaf] });
    const { metadata } = await podWith("cut", isReady);
    const startedMs = performance.now();
    world.remove("cut.json");
    const last = await waitUntilGone(world.client, metadata.uid);
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(1900);
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  });

  test("spends the grace period on the preStop hook and the container together", async () => {
    const preStop = { exec: { command: ["sh", "-c", "echo hook >> /diaries/hook; sleep 3600"] } };
    const deaf = shell("main", "trap '' TERM; sleep 3600", { lifecycle: { preStop } });
    startPod("hook", { terminationGracePeriodSeconds: 2, containers: [deaf] });
    const { metadata } = await podWith("hook", isReady);
    world.remove("hook.json");
    // The hook would outlast the test.
    await waitUntilGone(world.client, metadata.uid);
    expect(diary("hook")).toEqual(["hook"]);
  });

  test("ends a pod that is removed in the middle of its start", async () => {
    startPod("early", {
      initContainers: [shell("prepare", `echo prepare >> /diaries/early; ${untilStopped}`)],
      containers: [shell("main", `echo main >> /diaries/early; ${untilStopped}`)],
    });
    const pod = await podWith(
      "early",
      ({ status }) => status?.initContainerStatuses?.[0]?.state?.running !== undefined,
    );
    const changes = new PodChanges(world.client);
    world.remove("early.json");
    const last = await waitUntilGone(world.client, pod.metadata.uid);
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
    expect(diary("early")).not.toContain("main");
    expect(last?.metadata.deletionTimestamp).toBeDefined();
    const types = (await changes.stop())
      .filter((change) => change.pod.metadata.uid === pod.metadata.uid)
      .map(({ type }) => type);
    expect(types.filter((type) => type === "DELETED")).toHaveLength(1);
  });

  test("runs the first of two manifests with one name, names the second, and runs it when the first is gone", async () => {
    const twin = (word: string): string => {
      const readinessProbe = { exec: { command: ["grep", word, "/diaries/twin"] } };
      const main = shell("main", `echo ${word} >> /diaries/twin; ${untilStopped}`, {
        readinessProbe,
      });
      return podManifest("twin", withDiary({ containers: [main] }));
    };
    world.write("twin-1.json", twin("one"));
    const first = await podWith("twin", isReady);
    world.write("twin-2.json", twin("two"));
    await world.agent.untilPrinted(({ stderr }) => stderr.includes("twin-2.json"));
    const { problems } = await world.client.listProblems(AbortSignal.timeout(60_000));
    expect(problems).toMatchObject([
      { origin: join(world.manifests, "twin-2.json"), field: "metadata.name" },
    ]);
    expect(problems[0]?.message).toContain(join(world.manifests, "twin-1.json"));
    world.remove("twin-1.json");
    const next = await podWith(
      "twin",
      (pod) => pod.metadata.uid !== first.metadata.uid && isReady(pod),
    );
    expect(diary("twin")).toEqual(["one", "two"]);
    await waitUntilGone(world.client, first.metadata.uid);
    expect(await world.tracesLeft([first.metadata.uid])).toEqual([]);
    expect(next.status?.phase).toBe("Running");
    expect((await world.client.listProblems(AbortSignal.timeout(60_000))).problems).toEqual([]);
  });
});
