import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import {
  observedNothing,
  podLogsRoot,
  podWithVolume,
  rootFolder,
  StageWorld,
} from "../../../test/sim/stage-world.ts";
import { errorText } from "../../lib/error-text.ts";
import { containerId, podUid } from "../../model/ids.ts";
import { noteStopping, prepareStages, releaseStages, removeStages } from "./pod-stage.ts";

const uidA = podUid("uid-a");

const { signal } = new AbortController();
const pod = podWithVolume("uid-a");
const request = { pod, observed: observedNothing(pod) };

const runningContainer = {
  id: containerId("containerd://1"),
  name: "main",
  state: "running",
  exitCode: 0,
  image: "",
  imageId: "",
  imageRef: "",
  hash: "",
  restartCount: 0,
  reason: "",
  message: "",
} as const;

test("stages are prepared in order and given back in reverse order", async () => {
  const { stages } = await new StageWorld().start();
  expect(stages.map(({ name }) => name)).toEqual([
    "objects",
    "devices",
    "cgroup",
    "folders",
    "claims",
    "volumes",
    "probes",
  ]);
  const order: string[] = [];
  const noted = stages.map((stage) => ({
    ...stage,
    prepare: async () => void order.push(`+${stage.name}`),
    release: async () => void order.push(`-${stage.name}`),
  }));
  await prepareStages(noted, request, signal);
  await releaseStages(noted, pod, signal);
  const names = stages.map(({ name }) => name);
  expect(order.slice(0, 7)).toEqual(names.map((name) => `+${name}`));
  expect(order.slice(7)).toEqual(names.toReversed().map((name) => `-${name}`));
});

test("the first stage that cannot be prepared ends the preparation", async () => {
  const world = await new StageWorld().start();
  world.cgroups.create = () => Promise.reject(new Error("no space left on device"));
  await expect(prepareStages(world.stages, request, signal)).rejects.toThrow(
    "unable to ensure pod container exists: no space left on device",
  );
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  expect(world.calls).toEqual(["objects of uid-a"]);
  expect(world.events.list(uidA)).toMatchObject([{ reason: "FailedCreatePodContainer" }]);
});

test("an ended pod keeps its folders and its logs until it is removed", async () => {
  const world = await new StageWorld().start();
  world.registry.set(pod);
  await prepareStages(world.stages, request, signal);
  await world.files.writeFile(`${podLogsRoot}/default_web_uid-a/main/0.log`, "");
  noteStopping(world.stages, pod);
  world.registry.remove(pod);
  await releaseStages(world.stages, pod, signal);
  expect(await world.whatIsOnDisk("uid-a")).toEqual(["pods/uid-a", "logs/default_web_uid-a"]);
  await removeStages(world.stages, uidA, signal);
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
  expect(world.calls.filter((call) => call.startsWith("probes"))).toEqual([
    "probes of uid-a",
    "probes of uid-a stopping",
    "probes of uid-a removed",
    "probes of uid-a removed",
  ]);
});

test("a pod that was removed is not known by its logs any more: what it leaves next is found by its UID", async () => {
  const world = await new StageWorld().start();
  world.registry.set(pod);
  await prepareStages(world.stages, request, signal);
  expect(world.table.get(uidA)?.logs).toBe(`${podLogsRoot}/default_web_uid-a`);
  world.registry.remove(pod);
  await removeStages(world.stages, uidA, signal);
  expect(world.table.get(uidA)?.logs).toBeUndefined();
  await world.files.writeFile(`${podLogsRoot}/default_renamed_uid-a/main/0.log`, "");
  await removeStages(world.stages, uidA, signal);
  expect(await world.whatIsOnDisk("uid-a")).toEqual([]);
});

test("release and removal do no harm to a pod that was never prepared, nor when they are repeated", async () => {
  const world = await new StageWorld().start();
  const other = podWithVolume("uid-b");
  world.registry.set(other);
  await prepareStages(world.stages, { pod: other, observed: observedNothing(other) }, signal);
  const before = await world.whatIsOnDisk("uid-b");
  for (let time = 0; time < 2; time++) {
    await releaseStages(world.stages, pod, signal);
    await removeStages(world.stages, uidA, signal);
  }
  expect(await world.whatIsOnDisk("uid-b")).toEqual(before);
});

test("the cgroup of a pod that runs is left as it is, and follows the pod while nothing runs", async () => {
  const world = await new StageWorld().start();
  const limited = testPod(
    { containers: [{ name: "main", resources: { limits: { memory: "64Mi" } } }] },
    { uid: "uid-a" },
  );
  const idle = { pod: limited, observed: observedNothing(limited) };
  await prepareStages(world.stages, idle, signal);
  const path = world.cgroups.paths.find((each) => each.endsWith("poduid-a")) ?? "";
  expect(world.cgroups.read(path).memoryBytes).toBe(64n * 1024n * 1024n);
  await world.cgroups.update(path, { memoryBytes: 1n });
  const running = { ...idle.observed, containers: [runningContainer] };
  await prepareStages(world.stages, { pod: limited, observed: running }, signal);
  expect(world.cgroups.read(path).memoryBytes).toBe(1n);
  await prepareStages(world.stages, idle, signal);
  expect(world.cgroups.read(path).memoryBytes).toBe(64n * 1024n * 1024n);
});

test("what a pod was given is recorded with its new cgroup, and not again while it runs", async () => {
  const world = await new StageWorld().start();
  const limited = (cpu: string) =>
    testPod(
      {
        containers: [{ name: "main", resources: { limits: { cpu } } }],
        resources: { limits: { cpu } },
      },
      { uid: "uid-a" },
    );
  const idle = observedNothing(limited("1"));
  await prepareStages(world.stages, { pod: limited("1"), observed: idle }, signal);
  const actuated = () => world.table.get(uidA)?.actuated;
  expect(actuated()?.containers.get("main")).toMatchObject({ limits: { cpu: "1" } });
  expect(actuated()?.pod).toMatchObject({ limits: { cpu: "1" } });
  const running = { ...idle, containers: [runningContainer] };
  await prepareStages(world.stages, { pod: limited("2"), observed: running }, signal);
  expect(actuated()?.pod).toMatchObject({ limits: { cpu: "1" } });
  await prepareStages(world.stages, { pod: limited("2"), observed: idle }, signal);
  expect(actuated()?.pod).toMatchObject({ limits: { cpu: "2" } });
});

test("a volume that cannot be set up is named in the error", async () => {
  const world = await new StageWorld().start();
  const lacking = testPod({
    containers: [{ name: "main", volumeMounts: [{ name: "settings", mountPath: "/etc/app" }] }],
    volumes: [{ name: "settings", configMap: { name: "absent" } }],
  });
  const lackingRequest = { pod: lacking, observed: observedNothing(lacking) };
  world.registry.set(lacking);
  const preparing = prepareStages(world.stages, lackingRequest, signal).catch(errorText);
  await world.clock.advance(123_000);
  expect(await preparing).toBe(
    "unable to attach or mount volumes: unmounted volumes=[settings], unattached volumes=[], failed to process volumes=[]: context deadline exceeded",
  );
  expect(world.events.list(lacking.metadata.uid).map(({ message }) => message)).toContain(
    'MountVolume.SetUp failed for volume "settings" : configmap "absent" not found',
  );
});

test("folders of a pod that cannot be made are reported", async () => {
  const world = await new StageWorld().start();
  world.files.ensureFolder = () => Promise.reject(new Error("read-only file system"));
  await expect(prepareStages(world.stages, request, signal)).rejects.toThrow(
    "error making pod data directories: read-only file system",
  );
  expect(world.events.list(uidA)).toMatchObject([{ reason: "FailedToMakePodDataDirectories" }]);
});

test("nothing is deleted across a mount point, and the volumes of a past agent are unmounted", async () => {
  const world = await new StageWorld().start();
  const folder = `${rootFolder}/pods/old`;
  await world.files.writeFile(`${folder}/volumes/kubernetes.io~empty-dir/cache/data`, "");
  await world.mounts.mountTmpfs(`${folder}/volumes/kubernetes.io~empty-dir/cache`);
  await world.mounts.mountTmpfs(`${folder}/elsewhere`);
  await expect(removeStages(world.stages, podUid("old"), signal)).rejects.toThrow(
    `${folder}/elsewhere is a mount point`,
  );
  expect(world.mounts.paths).toEqual([`${folder}/elsewhere`]);
  await world.mounts.unmount(`${folder}/elsewhere`);
  await removeStages(world.stages, podUid("old"), signal);
  expect(await world.whatIsOnDisk("old")).toEqual([]);
});

test("what past agents left is found by cgroup, data folder and logs", async () => {
  const world = await new StageWorld().start();
  await world.cgroups.create("/kubepods/besteffort/podby-cgroup", {});
  await world.files.writeFile(`${rootFolder}/pods/by-folder/etc-hosts`, "");
  await world.files.writeFile(`${podLogsRoot}/ns_name_by-logs/main/0.log`, "");
  const found: string[] = [];
  for (const stage of world.stages) found.push(...((await stage.listFound?.()) ?? []));
  expect(found.toSorted()).toEqual(["by-cgroup", "by-folder", "by-logs"]);
});
