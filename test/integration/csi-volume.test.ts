import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { VolumeSpec } from "../../src/core/storage/volume-spec.ts";
import { createCsiDrivers } from "../../src/drivers/csi/csi-drivers.ts";
import { linuxCommands } from "../../src/drivers/linux/commands.ts";
import { hostFiles } from "../../src/drivers/linux/host-files.ts";
import { HungPaths } from "../../src/drivers/linux/hung-paths.ts";
import { linuxMounts } from "../../src/drivers/linux/mounts.ts";
import { readMachine } from "../../src/drivers/linux/read-machine.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import { pluginSockets } from "../../src/drivers/plugins/plugin-sockets.ts";
import { CsiDriverRegistry } from "../../src/engine/plugins/csi-driver-registry.ts";
import { CsiRegistration } from "../../src/engine/plugins/csi-registration.ts";
import { PluginRegistry } from "../../src/engine/plugins/plugin-registry.ts";
import { CsiClients } from "../../src/engine/volumes/csi/csi-calls.ts";
import { csiPlugin } from "../../src/engine/volumes/csi/csi-plugin.ts";
import type {
  DeviceStorage,
  PodVolumeRequest,
  StoragePlugin,
} from "../../src/engine/volumes/storage-plugin.ts";
import { MetricsRegistry } from "../../src/lib/metrics-registry.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import type { CSIDriverSpec } from "../../src/model/generated/kubernetes.ts";
import { metricDefinitions } from "../../src/model/generated/metrics.ts";
import { hasCapability } from "../../src/model/machine.ts";
import type { Pod } from "../../src/model/pod.ts";
import { mustParseQuantity } from "../../src/model/quantity.ts";
import { testForeignFiles } from "../kit/foreign-files-program.ts";
import { buildPod } from "../kit/pods.ts";
import { silentLog } from "../kit/silent-log.ts";
import { CsiDriver } from "./support/csi-driver.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const mebibyte = 2 ** 20;
/** xfs takes no less than 300. */
const volumeBytes = 320 * mebibyte;
const signal = AbortSignal.timeout(280_000);

/** The API server's. */
const defaults: CSIDriverSpec = {
  attachRequired: true,
  fsGroupPolicy: "ReadWriteOnceWithFSType",
  volumeLifecycleModes: ["Persistent"],
};

let root: string;
let driver: CsiDriver;
let csiDriver: CSIDriverSpec;
let registry: CsiDriverRegistry;
let end: () => Promise<void>;

beforeEach(async () => {
  root = makeTestFolder("csi-volume");
  csiDriver = defaults;
  registry = new CsiDriverRegistry();
  driver = await CsiDriver.start({ kubeletRoot: root });
  end = await register();
});

afterEach(async () => {
  await end();
  await driver[Symbol.asyncDispose]();
  await removeFolder(root);
});

/** The driver registers itself, as with an agent. */
async function register(): Promise<() => Promise<void>> {
  const shared = { clock: systemClock, log: silentLog };
  const folder = join(root, "plugins_registry");
  const plugins = new PluginRegistry({ ...shared, sockets: pluginSockets, folder });
  const drivers = createCsiDrivers();
  const wakeups = { retryVolumesOf: () => undefined };
  const alone = { csiNode: undefined, allocatable: undefined, wakeups };
  plugins.addHandler("CSIPlugin", new CsiRegistration({ ...shared, ...alone, registry, drivers }));
  const life = new AbortController();
  const running = plugins.run(life.signal);
  await expect.poll(() => registry.drivers.has(driver.name)).toBe(true);
  return async () => {
    life.abort();
    await running;
  };
}

/** The plugin of an agent that has just started: it knows what the disk knows. */
function startPlugin(): StoragePlugin {
  const hungPaths = new HungPaths(Date.now);
  return csiPlugin({
    names: {
      rootFolder: root,
      nodeName: "node-1",
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
    },
    clients: new CsiClients({
      drivers: createCsiDrivers(),
      registry,
      metrics: new MetricsRegistry(metricDefinitions),
      clock: systemClock,
    }),
    objects: {
      csiDriver: (name) => ok({ metadata: { name }, spec: csiDriver }),
      // What this driver's attacher would have left.
      volumeAttachment: async (name) =>
        ok({
          metadata: { name },
          spec: { attacher: driver.name, nodeName: "node-1", source: {} },
          status: { attached: true, attachmentMetadata: { device: "disk" } },
        }),
      secret: async (_, name) =>
        name === "stage-key"
          ? ok({ data: { key: Buffer.from("open").toString("base64") } })
          : err({ code: "not-found", message: `secret "${name}" not found` }),
    },
    tokens: undefined,
    files: hostFiles,
    foreignFiles: testForeignFiles(hungPaths),
    mounts: linuxMounts(hungPaths, linuxCommands(hungPaths)),
    events: { record: () => undefined },
    clock: systemClock,
    log: silentLog,
  });
}

function claimed(fsType: string | undefined): VolumeSpec {
  const persistentVolume = {
    metadata: { name: "pv" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: String(volumeBytes) },
      volumeMode: fsType === undefined ? "Block" : "Filesystem",
      csi: {
        driver: driver.name,
        volumeHandle: "disk",
        ...(fsType === undefined ? {} : { fsType }),
        nodeStageSecretRef: { namespace: "default", name: "stage-key" },
      },
    },
  };
  return { source: "persistentVolume", persistentVolume, readOnly: false };
}

function podNamed(name: string): Pod {
  return buildPod({ metadata: { name, namespace: "default", uid: `uid-${name}` } });
}

function value<T>(result: Result<T, { readonly message: string }>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function defined<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("the plugin has no such part");
  return part;
}

function mountsBelow(folder: string): readonly string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.map((line) => line.split(" ")[4] ?? "").filter((path) => path.startsWith(folder));
}

/** How the plugin is asked for the one volume of a test. */
async function openVolume(fsType: string): Promise<{
  readonly plugin: StoragePlugin;
  readonly device: DeviceStorage;
  readonly request: Omit<PodVolumeRequest, "pod">;
}> {
  await driver.createVolume("disk", volumeBytes);
  const plugin = startPlugin();
  const device = defined(plugin.device);
  const spec = claimed(fsType);
  const devicePath = value(await device.waitForAttach({ spec, pod: podNamed("first") }, signal));
  const deviceMountPath = value(await device.mountPath(spec, signal));
  const request = { spec, devicePath, deviceMountPath, isRemount: false, reconstructed: false };
  return { plugin, device, request };
}

test.each(["ext4", "xfs"])(
  "a volume with %s is shared by two pods, is measured, and leaves nothing",
  async (fsType) => {
    const { plugin, device, request } = await openVolume(fsType);
    const { spec, deviceMountPath } = request;
    const [first, second] = [podNamed("first"), podNamed("second")];
    value(await device.mountDevice({ ...request, pod: first }, signal));
    const setUp = async (pod: Pod): Promise<string> =>
      value(await plugin.setUp({ ...request, pod, fsGroup: 2000 }, signal)).path;
    const path = await setUp(first);
    const content = randomBytes(mebibyte);
    writeFileSync(join(path, "file"), content);
    const other = await setUp(second);
    expect(other).not.toBe(path);
    expect(readFileSync(join(other, "file")).equals(content)).toBe(true);
    expect(statSync(other).gid).toBe(2000);
    expect(driver.calls("NodeStageVolume").map((call) => call.request)).toMatchObject([
      {
        stagingTargetPath: deviceMountPath,
        publishContext: { device: "disk" },
        secrets: { key: "open" },
      },
    ]);

    const stats = value(
      await defined(plugin.stats?.({ spec, podUid: first.metadata.uid }, signal)),
    );
    expect(stats.capacityBytes).toBe(sizeOf(path));
    expect(stats.inodesUsed).toBeGreaterThan(0n);

    for (const pod of [first, second]) {
      const target = { podUid: pod.metadata.uid, volumeSpecName: "pv" };
      value(await plugin.tearDown(target, signal));
    }
    expect(mountsBelow(root)).toEqual([deviceMountPath]);
    value(await device.unmountDevice(deviceMountPath, signal));
    expect(mountsBelow(root)).toEqual([]);
    expect(driver.leftovers()).toEqual([]);
  },
);

function sizeOf(path: string): bigint {
  const { blocks, bsize } = statfsSync(path, { bigint: true });
  return blocks * bsize;
}

test.each([
  { fsType: "xfs", growsMounted: true },
  // The kernel wants CAP_SYS_RESOURCE for it; without, the driver refuses now and grows it before it is mounted again.
  { fsType: "ext4", growsMounted: hasCapability(readMachine(), "CAP_SYS_RESOURCE") },
])("a volume with $fsType grows and keeps its data", async ({ fsType, growsMounted }) => {
  const { plugin, device, request } = await openVolume(fsType);
  const { spec, devicePath, deviceMountPath } = request;
  const pod = podNamed("first");
  value(await device.mountDevice({ ...request, pod }, signal));
  const { path } = value(await plugin.setUp({ ...request, pod }, signal));
  const content = randomBytes(mebibyte);
  writeFileSync(join(path, "file"), content);
  const sizeBefore = sizeOf(path);
  const newSize = mustParseQuantity(String(2 * volumeBytes));
  const paths = { devicePath, deviceMountPath: path, deviceStagePath: deviceMountPath };
  const expanded = await defined(plugin.expand?.({ spec, newSize, ...paths }, signal));
  const message = expanded.ok ? "" : expanded.error.message;
  expect(message).toMatch(growsMounted ? /^$/ : /Permission denied to resize filesystem/);
  expect(sizeOf(path) > sizeBefore).toBe(growsMounted);

  const target = { podUid: pod.metadata.uid, volumeSpecName: "pv" };
  value(await plugin.tearDown(target, signal));
  value(await device.unmountDevice(deviceMountPath, signal));
  value(await device.mountDevice({ ...request, pod }, signal));
  expect(sizeOf(deviceMountPath)).toBeGreaterThan(BigInt(volumeBytes));
  expect(readFileSync(join(deviceMountPath, "file")).equals(content)).toBe(true);
  value(await device.unmountDevice(deviceMountPath, signal));
  expect(driver.leftovers()).toEqual([]);
});

test("a raw device is written for one pod and read for another", async () => {
  await driver.createVolume("disk", volumeBytes);
  const block = defined(startPlugin().block);
  const spec = claimed(undefined);
  const [first, second] = [podNamed("first"), podNamed("second")];
  value(await block.setUpDevice({ spec, pod: first }, signal));
  const path = value(await block.mapPodDevice({ spec, pod: first }, signal));
  expect(statSync(path).isBlockDevice()).toBe(true);
  const content = randomBytes(4096);
  const written = openSync(path, "r+");
  writeSync(written, content, 0, content.length, mebibyte);
  fsyncSync(written);
  closeSync(written);

  // The next agent takes it down with what it finds on disk.
  const nextBlock = defined(startPlugin().block);
  const other = value(await nextBlock.mapPodDevice({ spec, pod: second }, signal));
  const read = Buffer.alloc(content.length);
  const opened = openSync(other, "r");
  readSync(opened, read, 0, read.length, mebibyte);
  closeSync(opened);
  expect(read.equals(content)).toBe(true);
  for (const pod of [first, second]) {
    const target = { podUid: pod.metadata.uid, volumeSpecName: "pv" };
    value(await nextBlock.unmapPodDevice(target, signal));
  }
  const target = { podUid: first.metadata.uid, volumeSpecName: "pv" };
  value(await nextBlock.tearDownDevice({ ...target, globalMapPath: "", devicePath: "" }, signal));
  expect(mountsBelow(root)).toEqual([]);
  expect(driver.leftovers()).toEqual([]);
  expect(existsSync(path)).toBe(false);
});

test("an inline volume is the pod's own and goes with it", async () => {
  csiDriver = { ...defaults, podInfoOnMount: true, volumeLifecycleModes: ["Ephemeral"] };
  const plugin = startPlugin();
  const pod = podNamed("first");
  const spec: VolumeSpec = {
    source: "inline",
    volume: {
      name: "scratch",
      csi: { driver: driver.name, volumeAttributes: { medium: "tmpfs" } },
    },
  };
  const request = { spec, pod, devicePath: "", deviceMountPath: "" };
  const { path } = value(
    await plugin.setUp({ ...request, isRemount: false, reconstructed: false }, signal),
  );
  const context: unknown = JSON.parse(readFileSync(join(path, "volume-context.json"), "utf8"));
  expect(context).toMatchObject({ "csi.storage.k8s.io/pod.name": "first", medium: "tmpfs" });
  value(await plugin.tearDown({ podUid: pod.metadata.uid, volumeSpecName: "scratch" }, signal));
  expect(mountsBelow(root)).toEqual([]);
  expect(driver.leftovers()).toEqual([]);
  expect(readdirSync(join(driver.folder, "ephemeral"))).toEqual([]);
});

test("a driver that dies during each call comes back, and the call is made good", async () => {
  await driver.createVolume("disk", volumeBytes);
  const plugin = startPlugin();
  const device = defined(plugin.device);
  const spec = claimed("ext4");
  const pod = podNamed("first");
  const deviceMountPath = value(await device.mountPath(spec, signal));
  const request = { spec, pod, devicePath: "", deviceMountPath };
  const podRequest = { ...request, isRemount: false, reconstructed: false };
  const target = { podUid: pod.metadata.uid, volumeSpecName: "pv" };
  const steps = [
    { method: "NodeStageVolume", run: () => device.mountDevice(request, signal) },
    { method: "NodePublishVolume", run: () => plugin.setUp(podRequest, signal) },
    { method: "NodeUnpublishVolume", run: () => plugin.tearDown(target, signal) },
    { method: "NodeUnstageVolume", run: () => device.unmountDevice(deviceMountPath, signal) },
  ];
  for (const { method, run } of steps) {
    for (const afterwards of [false, true]) {
      await driver.setRules([{ method, afterwards, die: true }]);
      expect(await run()).toMatchObject({ ok: false });
      await driver.ended();
      await driver.start();
      await expect.poll(() => registry.drivers.has(driver.name)).toBe(true);
    }
    value<unknown>(await run());
  }
  expect(mountsBelow(root)).toEqual([]);
  expect(driver.leftovers()).toEqual([]);
});
