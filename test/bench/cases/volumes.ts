import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createCsiDrivers } from "../../../src/drivers/csi/csi-drivers.ts";
import { VolumeCapability_AccessMode_Mode as AccessMode } from "../../../src/model/generated/csi.ts";
import type {
  CSINode,
  PersistentVolumeClaim,
  PodSpec,
  VolumeAttachment,
} from "../../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import { CsiDriver } from "../../integration/support/csi-driver.ts";
import { clusterOf, createPods, deletePods } from "../api-pods.ts";
import { BenchAgent } from "../bench-agent.ts";
import type { BenchWorld } from "../bench-world.ts";
import { type BenchCase, type CaseContext, recordAgent, recordFloor } from "../case-context.ts";
import type { Metric } from "../results.ts";

/** Whether a controller has to attach volumes before they are mounted. */
type Way = "plain" | "attached";

const ways: readonly Way[] = ["plain", "attached"];
const titles: Readonly<Record<Way, string>> = {
  plain: "a CSI volume",
  attached: "a CSI volume that has to be attached",
};

const withoutUp = metric("none-running", "pod without a volume → running");
const claimsPath = "/api/v1/namespaces/default/persistentvolumeclaims";
const volumesPath = "/api/v1/persistentvolumes";
const driversPath = "/apis/storage.k8s.io/v1/csidrivers";
const attachmentsPath = "/apis/storage.k8s.io/v1/volumeattachments";
const nodesPath = "/apis/storage.k8s.io/v1/csinodes";
const volumeBytes = 64 * 2 ** 20;
const callTimeoutMs = 120_000;
const lookAgainMs = 50;
/** As for single pods: before that a shell may not handle signals, and the next pod is not to pay for this one. */
const lifeMs = 500;
const restMs = 1_500;

/** (j) What a volume of a CSI driver adds to the start of a pod. Each pod with one starts beside a pod without. */
export const volumeCase: BenchCase = {
  needsCluster: true,
  rounds: ({ rounds }) => rounds,
  measureFloor: measureCalls,
  measure: async (context, contender) => {
    const agent = await BenchAgent.create(context.world, contender);
    await agent.startReady();
    for (const way of ways) await measureWay(context, agent, way);
    await agent.stop();
  },
};

function metric(id: string, title: string): Metric {
  return { id: `volume-${id}`, case: "j", title, unit: "ms" };
}

function added(way: Way): Metric {
  return metric(`${way}-added`, `${titles[way]} adds to the start of a pod`);
}

/** The calls that no kubelet can do without, made by themselves: the volume has a file system already. */
async function measureCalls(context: CaseContext): Promise<void> {
  const { world, sizes } = context;
  const driver = await CsiDriver.start({ flags: ["--attach=false"] });
  try {
    await driver.createVolume("bare", volumeBytes);
    const client = createCsiDrivers().connect(driver.endpoint);
    const stagingTargetPath = join(world.folder, "bare-staged");
    const targetPath = join(world.folder, "bare-published");
    mkdirSync(stagingTargetPath, { recursive: true });
    const mode = { mode: AccessMode.SINGLE_NODE_WRITER };
    const volumeCapability = { mount: { fsType: "ext4" }, accessMode: mode };
    const volume = { volumeId: "bare", stagingTargetPath, volumeCapability };
    for (let index = 0; index <= sizes.samples; index += 1) {
      const signal = AbortSignal.timeout(callTimeoutMs);
      const sentMs = performance.now();
      await client.getCapabilities(signal);
      await client.stageVolume(volume, signal);
      await client.publishVolume({ ...volume, targetPath }, signal);
      const doneMs = performance.now();
      await client.unpublishVolume({ volumeId: "bare", targetPath }, signal);
      await client.unstageVolume(volume, signal);
      // The first one makes the file system.
      if (index > 0) for (const way of ways) recordFloor(context, added(way), doneMs - sentMs);
    }
  } finally {
    await driver[Symbol.asyncDispose]();
  }
}

async function measureWay(context: CaseContext, agent: BenchAgent, way: Way): Promise<void> {
  const { world, sizes } = context;
  const driver = await CsiDriver.start({
    kubeletRoot: agent.rootDir,
    nodeId: "bench",
    kubeconfig: clusterOf(world).adminKubeconfig,
    flags: way === "plain" ? ["--attach=false"] : [],
  });
  try {
    await createObjects(world, driver, way);
    for (let index = 0; index <= sizes.samples; index += 1) {
      const withoutMs = await timeStart(world, `without-${index}`, {});
      const withMs = await timeStart(world, `with-${index}`, podWithVolume());
      await untilReleased(world, driver);
      if (index === 0) continue;
      recordAgent(context, withoutUp, agent, withoutMs);
      recordAgent(
        context,
        metric(`${way}-running`, `pod with ${titles[way]} → running`),
        agent,
        withMs,
      );
      recordAgent(context, added(way), agent, withMs - withoutMs);
    }
    await removeObjects(world, driver);
  } finally {
    await driver.stop();
    await driver[Symbol.asyncDispose]();
  }
}

/** From the request to the running container; the pod is gone when this has resolved. */
async function timeStart(world: BenchWorld, name: string, spec: Partial<PodSpec>): Promise<number> {
  const upSince = world.watch.mark();
  const { sentMs } = await createPods(world, [name], spec);
  const upMs = await world.watch.until("started", 2, upSince);
  await delay(lifeMs);
  await deletePods(world, [name]);
  await delay(restMs);
  return upMs - sentMs;
}

function podWithVolume(): Partial<PodSpec> {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return {
    containers: [shell("main", untilStopped, { volumeMounts })],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "bench" } }],
  };
}

async function createObjects(world: BenchWorld, driver: CsiDriver, way: Way): Promise<void> {
  const { api } = clusterOf(world);
  const shared = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const storage = "64Mi";
  await driver.createVolume("bench", volumeBytes);
  await api.create(driversPath, {
    metadata: { name: driver.name },
    spec: { attachRequired: way === "attached" },
  });
  await api.create(volumesPath, {
    metadata: { name: "bench" },
    spec: {
      ...shared,
      capacity: { storage },
      csi: { driver: driver.name, volumeHandle: "bench", fsType: "ext4" },
      claimRef: { namespace: "default", name: "bench" },
    },
  });
  await api.create(claimsPath, {
    metadata: { name: "bench" },
    spec: { ...shared, volumeName: "bench", resources: { requests: { storage } } },
  });
  await api.until<PersistentVolumeClaim>(claimsPath, (claims) =>
    claims.every(({ status }) => status?.phase === "Bound"),
  );
  await api.until<CSINode>(nodesPath, (nodes) =>
    nodes.some(({ spec }) => spec.drivers.some(({ name }) => name === driver.name)),
  );
}

async function removeObjects(world: BenchWorld, driver: CsiDriver): Promise<void> {
  const { api } = clusterOf(world);
  await api.delete(`${claimsPath}/bench`);
  await api.until(claimsPath, (claims) => claims.length === 0);
  await api.delete(`${volumesPath}/bench`);
  await api.until(volumesPath, (volumes) => volumes.length === 0);
  await api.delete(`${driversPath}/${driver.name}`);
}

/** The next pod has its volume attached and staged again. */
async function untilReleased(world: BenchWorld, driver: CsiDriver): Promise<void> {
  const timeout = AbortSignal.timeout(callTimeoutMs);
  while (driver.leftovers().length > 0) {
    if (timeout.aborted) throw new Error(`not unstaged: ${driver.leftovers().join(", ")}`);
    await delay(lookAgainMs);
  }
  await clusterOf(world).api.until<VolumeAttachment>(
    attachmentsPath,
    (found) => found.length === 0,
    callTimeoutMs,
  );
}
