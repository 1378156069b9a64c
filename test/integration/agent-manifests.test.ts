import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";

describe("a folder of manifests", () => {
  let world: AgentWorld;
  beforeAll(async () => {
    world = await AgentWorld.start(1);
  });
  afterAll(() => world.close());

  const ready = (name: string, isIt: (pod: Pod) => boolean = () => true): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), (pod) => isReady(pod) && isIt(pod));

  test("runs the pod of a manifest that is dropped in", async () => {
    world.write("dropped.json", podManifest("dropped"));
    const pod = await ready("dropped");
    expect(pod.status?.phase).toBe("Running");
    expect(pod.status?.podIP).toMatch(/^10\.98\.1\.\d+$/);
    const { main = "" } = await world.containerIds(pod.metadata.uid);
    expect(pod.status?.containerStatuses?.[0]?.containerID).toBe(`containerd://${main}`);
    expect(world.pidOf(pod.metadata.uid, main)).toBeGreaterThan(1);
  });

  test("re-creates only the pod whose image or command was edited", async () => {
    world.write("edited.json", podManifest("edited"));
    world.write("steady.json", podManifest("steady"));
    const [edited, steady] = await Promise.all([ready("edited"), ready("steady")]);
    const steadyIds = await world.containerIds(steady.metadata.uid);
    const image = "busybox:1.36";
    const images = [
      shell("main", untilStopped, { image }),
      shell("main", `:; ${untilStopped}`, { image }),
    ];
    let before = edited;
    for (const container of images) {
      world.write("edited.json", podManifest("edited", { containers: [container] }));
      const { uid } = before.metadata;
      const after = await ready("edited", ({ metadata }) => metadata.uid !== uid);
      expect(after.status?.containerStatuses?.[0]?.image).toBe("docker.io/library/busybox:1.36");
      expect(after.spec.containers[0]?.command).toEqual(container.command);
      await waitUntilGone(world.client, uid);
      expect(await world.tracesLeft([uid])).toEqual([]);
      before = after;
    }
    expect(await world.containerIds(steady.metadata.uid)).toEqual(steadyIds);
  });

  test("leaves nothing of a pod whose file is deleted", async () => {
    const volume = { name: "scratch", emptyDir: { medium: "Memory" } };
    const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
    const main = shell("main", `echo here > /scratch/x; ${untilStopped}`, { volumeMounts });
    world.write("deleted.json", podManifest("deleted", { containers: [main], volumes: [volume] }));
    const pod = await ready("deleted");
    expect((await world.tracesOf(pod.metadata.uid)).length).toBeGreaterThan(5);
    expect(world.addresses()).toContain(pod.status?.podIP);
    world.remove("deleted.json");
    const last = await waitUntilGone(world.client, pod.metadata.uid);
    expect(last?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
    expect(world.addresses()).not.toContain(pod.status?.podIP);
    const get = await world.berth("get", "pod", "deleted");
    expect(get.code).toBe(4);
  });

  test("reports a corrupt file by name, line and field, and keeps its last good version running", async () => {
    const good = `apiVersion: v1
kind: Pod
metadata:
  name: fragile
spec:
  containers:
    - name: main
      image: busybox:latest
      imagePullPolicy: IfNotPresent
      command: [sh, -c, "${untilStopped}"]
`;
    world.write("fragile.yaml", good);
    world.write("other.json", podManifest("other"));
    const [fragile, other] = await Promise.all([ready("fragile"), ready("other")]);
    const ids = [fragile, other].map(({ metadata }) => world.containerIds(metadata.uid));
    const before = await Promise.all(ids);
    world.write("fragile.yaml", good.replace("image: busybox:latest", "image: 17"));
    const reported =
      (text: string) =>
      ({ stderr }: { readonly stderr: string }) =>
        stderr.split("\n").some((line) => line.includes("bad manifest") && line.includes(text));
    await world.agent.untilPrinted(reported("fragile.yaml"));
    const { problems } = await world.client.listProblems(AbortSignal.timeout(60_000));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({
      origin: `${world.manifests}/fragile.yaml`,
      line: 8,
      field: "spec.containers[0].image",
    });
    world.write("fragile.yaml", good.replace('"]', '"'));
    await world.agent.untilPrinted(reported('"line":1'));
    const unclosed = await world.client.listProblems(AbortSignal.timeout(60_000));
    expect(unclosed.problems).toMatchObject([
      { origin: `${world.manifests}/fragile.yaml`, line: 11 },
    ]);
    // What comes after the problem shows that the agent has continued.
    world.write("later.json", podManifest("later"));
    await ready("later");
    const now = [fragile, other].map(({ metadata }) => world.containerIds(metadata.uid));
    expect(await Promise.all(now)).toEqual(before);
    world.write("fragile.yaml", good);
    world.write("last.json", podManifest("last"));
    await ready("last");
    expect((await world.client.listProblems(AbortSignal.timeout(60_000))).problems).toEqual([]);
    expect(await world.containerIds(fragile.metadata.uid)).toEqual(before[0]);
  });

  test("brings up 20 pods that come at once", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `crowd-${index}`);
    for (const name of names) world.write(`${name}.json`, podManifest(name));
    const pods = await Promise.all(names.map((name) => ready(name)));
    expect(new Set(pods.map(({ status }) => status?.podIP)).size).toBe(20);
    expect(pods.map(({ status }) => status?.containerStatuses?.[0]?.restartCount)).toEqual(
      names.map(() => 0),
    );
    for (const name of names) world.remove(`${name}.json`);
    await Promise.all(pods.map(({ metadata }) => waitUntilGone(world.client, metadata.uid)));
    expect(await world.tracesLeft(pods.map(({ metadata }) => metadata.uid))).toEqual([]);
  });

  test("ends where the last of many quick changes points", async () => {
    for (let round = 0; round < 6; round++) {
      const containers = [shell("main", `echo ${round}; ${untilStopped}`)];
      if (round % 3 === 2) world.remove("hasty.json");
      else world.write("hasty.json", podManifest("hasty", { containers }));
    }
    const containers = [shell("main", `echo final; ${untilStopped}`)];
    world.write("hasty-renamed.json", podManifest("hasty", { containers }));
    const pod = await ready(
      "hasty",
      ({ spec }) => spec.containers[0]?.command?.[2]?.includes("final") === true,
    );
    const { items } = await world.client.listPods(undefined, {}, AbortSignal.timeout(60_000));
    const others = items.filter(
      ({ metadata }) => metadata.name === pod.metadata.name && metadata.uid !== pod.metadata.uid,
    );
    await Promise.all(others.map(({ metadata }) => waitUntilGone(world.client, metadata.uid)));
    expect(Object.keys(await world.containerIds(pod.metadata.uid))).toEqual(["main"]);
  });
});
