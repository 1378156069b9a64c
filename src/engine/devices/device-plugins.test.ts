import { describe, expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { noPinning, testManagers } from "../../../test/kit/test-managers.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import type { Device, RegisterRequest } from "../../model/generated/device-plugin.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { RuntimeError } from "../../model/runtime-error.ts";
import type {
  DevicePluginClient,
  DevicePluginRegistration,
  DevicePlugins,
} from "../../ports/device-plugins.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { PodTable } from "../pods/pod-table.ts";
import type { DeviceEndpoints } from "./device-endpoints.ts";
import type { DeviceStore } from "./device-store.ts";
import { Holders } from "./holders.ts";
import type { NodeManagers } from "./node-managers.ts";

const resource = "example.com/gpu";
const checkpoint = "/data/device-plugins/kubelet_internal_checkpoint";

/** A plugin that hands out what it is asked for, and a node that it registers at. */
class Plugin implements DevicePlugins {
  readonly calls: string[] = [];
  failure: string | undefined;
  #registration: DevicePluginRegistration | undefined;
  #report: (devices: readonly Device[]) => void = () => undefined;
  #leave: () => void = () => undefined;

  async serve(
    _path: string,
    registration: DevicePluginRegistration,
  ): ReturnType<DevicePlugins["serve"]> {
    this.#registration = registration;
    return { close: () => Promise.resolve() };
  }

  async connect(): Promise<DevicePluginClient> {
    return {
      getOptions: async () => ({ preStartRequired: true, getPreferredAllocationAvailable: false }),
      listAndWatch: (onDevices) =>
        new Promise((_resolve, reject) => {
          this.#report = onDevices;
          this.#leave = () => reject(new RuntimeError("ListAndWatch", "Unavailable", "gone"));
        }),
      getPreferredAllocation: async () => ({}),
      allocate: async ({ containerRequests = [] }) => {
        const ids = containerRequests.flatMap(({ devicesIds = [] }) => devicesIds);
        this.calls.push(`Allocate ${ids.join()}`);
        if (this.failure !== undefined) throw new RuntimeError("Allocate", "Unknown", this.failure);
        const devices = ids.map((id) => ({ hostPath: `/dev/${id}`, containerPath: `/dev/${id}` }));
        return { containerResponses: [{ envs: { GPUS: ids.join() }, devices }] };
      },
      preStartContainer: async ({ devicesIds = [] }) => {
        this.calls.push(`PreStartContainer ${devicesIds.join()}`);
      },
      close: () => undefined,
    };
  }

  async register(request: RegisterRequest = {}): Promise<void> {
    const { signal } = new AbortController();
    await this.#registration?.register(
      { version: "v1beta1", resourceName: resource, endpoint: "gpu.sock", ...request },
      signal,
    );
  }

  report(...healths: readonly string[]): void {
    this.#report(healths.map((health, index) => ({ ID: `gpu${index}`, health })));
  }

  leave(): void {
    this.#leave();
  }
}

class World {
  readonly table: PodTable = new PodTable();
  readonly plugin: Plugin = new Plugin();
  readonly files: MemoryFiles;
  readonly managers: NodeManagers;
  readonly store: DeviceStore;
  readonly endpoints: DeviceEndpoints;
  readonly looks: string[] = [];
  readonly #wanted = this.table.writer("wanted");
  readonly #end = new AbortController();

  constructor(files: MemoryFiles = new MemoryFiles(), managers = noPinning) {
    const { table } = this;
    this.files = files;
    const active = new ActivePods(table, loudFaults);
    const made = testManagers({
      table,
      files,
      settings: { node: { managers } },
      holders: new Holders({ table, active, sources: { areAllReady: true } }),
      wakeups: {
        lookAtCpus: () => undefined,
        look: (uid) => void this.looks.push(uid),
        updateNode: () => void this.looks.push("node"),
      },
      devicePlugins: this.plugin,
    });
    this.managers = made.managers;
    this.store = made.store;
    this.endpoints = made.endpoints;
  }

  async start(): Promise<void> {
    await this.managers.start();
    void this.endpoints.run(this.#end.signal);
  }

  want(pod: Pod): void {
    this.#wanted.set(pod.metadata.uid, pod);
  }
}

async function withPlugin(files?: MemoryFiles, settings = noPinning): Promise<World> {
  const world = new World(files, settings);
  await world.start();
  await world.plugin.register();
  world.plugin.report("Healthy", "Healthy");
  return world;
}

function gpuPod(uid: string, count: string): Pod {
  const resources = { requests: { [resource]: count }, limits: { [resource]: count } };
  const pod = testPod({ containers: [{ name: "main", resources }] });
  return { ...pod, metadata: { ...pod.metadata, uid: uid as PodUid } };
}

const main = { name: "main" };

describe("a device plugin", () => {
  test("registers, and the node offers its healthy devices", async () => {
    const world = await withPlugin();
    world.plugin.report("Healthy", "Unhealthy", "Healthy");
    const { capacity, allocatable } = await world.store.readCapacity();
    expect(Number(capacity.get(resource)?.unscaled)).toBe(3);
    expect(Number(allocatable.get(resource)?.unscaled)).toBe(2);
    const node = world.store.nodeFor("x" as PodUid, { status: { allocatable: { cpu: "1" } } });
    expect(node.status?.allocatable).toEqual({ cpu: "1", [resource]: "2" });
    expect(world.looks).toContain("node");
  });

  test("is refused with a version or a name that a kubelet refuses", async () => {
    const world = await withPlugin();
    await expect(world.plugin.register({ version: "v1" })).rejects.toThrow(/"v1" is not supported/);
    await expect(world.plugin.register({ resourceName: "gpu" })).rejects.toThrow(
      'the ResourceName "gpu" is invalid',
    );
  });

  test("that is gone offers nothing, and what it gave stays with its containers", async () => {
    const world = await withPlugin();
    const pod = gpuPod("a", "2");
    world.want(pod);
    expect(await world.managers.admit(pod)).toBeUndefined();
    world.plugin.leave();
    await Promise.resolve();
    await Promise.resolve();
    const { capacity, allocatable } = await world.store.readCapacity();
    expect(Number(capacity.get(resource)?.unscaled)).toBe(2);
    expect(Number(allocatable.get(resource)?.unscaled)).toBe(0);
    const other = gpuPod("b", "1");
    world.want(other);
    expect(await world.managers.admit(other)).toEqual({
      reason: "UnexpectedAdmissionError",
      message: `Allocate failed due to no healthy devices present; cannot allocate unhealthy devices ${resource}, which is unexpected`,
    });
    expect(world.store.manager.inUse.get(resource)?.size).toBe(2);
  });
});

class WatchedFiles extends MemoryFiles {
  readonly written: string[] = [];
  failure: string | undefined;

  override async writeFile(path: string, data: Uint8Array | string): Promise<void> {
    if (this.failure !== undefined) throw new Error(this.failure);
    this.written.push(path);
    await super.writeFile(path, data);
  }
}

describe("devices", () => {
  test("of all containers of a pod are written down together, before it may start", async () => {
    const files = new WatchedFiles();
    const world = await withPlugin(files);
    const resources = { requests: { [resource]: "1" }, limits: { [resource]: "1" } };
    const containers = ["one", "two"].map((name) => ({ name, resources }));
    const pod = testPod({ containers });
    world.want(pod);
    const before = files.written.length;
    expect(await world.managers.admit(pod)).toBeUndefined();
    expect(files.written.slice(before)).toEqual([checkpoint]);
    const file = JSON.parse((await files.readText(checkpoint)) ?? "{}") as object;
    expect(file).toMatchObject({
      Data: { PodDeviceEntries: [{ ContainerName: "one" }, { ContainerName: "two" }] },
    });
  });

  test("that cannot be written down are not given", async () => {
    const files = new WatchedFiles();
    const world = await withPlugin(files);
    files.failure = "disk is full";
    const pod = gpuPod("a", "1");
    world.want(pod);
    expect(await world.managers.admit(pod)).toEqual({
      reason: "UnexpectedAdmissionError",
      message: "Allocate failed due to disk is full, which is unexpected",
    });
  });

  test("that could not be written down go into no container until they are", async () => {
    const files = new WatchedFiles();
    const world = await withPlugin(files);
    files.failure = "disk is full";
    const pod = gpuPod("a", "1");
    world.want(pod);
    await world.managers.admit(pod);
    const [container = main] = pod.spec.containers;
    expect(await world.managers.deviceOptions(pod, container)).toEqual({
      ok: false,
      error: "disk is full",
    });
    files.failure = undefined;
    expect((await world.managers.deviceOptions(pod, container)).ok).toBe(true);
    expect(await world.files.readText(checkpoint)).toContain("gpu0");
  });

  test("are given when a pod is admitted, and go into the container's config", async () => {
    const world = await withPlugin();
    const pod = gpuPod("a", "1");
    world.want(pod);
    expect(world.managers.concerns(pod)).toBe(true);
    expect(await world.managers.admit(pod)).toBeUndefined();
    const [container] = pod.spec.containers;
    const options = await world.managers.deviceOptions(pod, container ?? main);
    expect(options).toMatchObject({ ok: true, value: { envs: new Map([["GPUS", "gpu0"]]) } });
    expect(world.plugin.calls).toEqual(["Allocate gpu0", "PreStartContainer gpu0"]);
    const file = JSON.parse((await world.files.readText(checkpoint)) ?? "{}") as object;
    expect(file).toMatchObject({
      Data: {
        PodDeviceEntries: [
          {
            PodUID: "a",
            ContainerName: "main",
            ResourceName: resource,
            DeviceIDs: { "-1": ["gpu0"] },
          },
        ],
        RegisteredDevices: { [resource]: ["gpu0", "gpu1"] },
      },
    });
  });

  test("that a plugin did not give in the end are free for the next pod", async () => {
    const world = await withPlugin();
    world.plugin.failure = "no";
    const [first, second] = [gpuPod("a", "2"), gpuPod("b", "2")];
    for (const pod of [first, second]) world.want(pod);
    expect(await world.managers.admit(first)).toEqual({
      reason: "UnexpectedAdmissionError",
      message: "Allocate failed due to rpc error: code = Unknown desc = no, which is unexpected",
    });
    world.plugin.failure = undefined;
    expect(await world.managers.admit(second)).toBeUndefined();
  });

  test("of a container are the same under the next agent, before its plugin is back", async () => {
    const before = await withPlugin();
    const pod = gpuPod("a", "1");
    before.want(pod);
    await before.managers.admit(pod);
    const world = new World(before.files);
    await world.start();
    world.want(pod);
    const [container] = pod.spec.containers;
    const options = await world.managers.deviceOptions(pod, container ?? main);
    expect(options).toMatchObject({ ok: true, value: { envs: new Map([["GPUS", "gpu0"]]) } });
    expect((await world.store.readCapacity()).allocatable.get(resource)?.unscaled).toBe(0n);
    // The pod itself still fits.
    const node = { status: { allocatable: { [resource]: "0" } } };
    expect(world.store.nodeFor(pod.metadata.uid, node).status?.allocatable).toEqual({
      [resource]: "1",
    });
    await world.plugin.register();
    world.plugin.report("Healthy", "Healthy");
    const other = gpuPod("b", "1");
    world.want(other);
    await world.managers.admit(other);
    expect(world.plugin.calls).toEqual(["Allocate gpu1"]);
  });

  test("are given back when the pod has ended, and their health is in its status until then", async () => {
    const world = await withPlugin();
    const pod = gpuPod("a", "1");
    world.want(pod);
    await world.managers.admit(pod);
    world.plugin.report("Unhealthy", "Healthy");
    expect(world.looks).toContain("a");
    const status = {
      containerStatuses: [{ name: "main", image: "", imageID: "", ready: true, restartCount: 0 }],
    };
    const [shown] = world.managers.withHealth(pod, status).containerStatuses ?? [];
    expect(shown?.allocatedResourcesStatus).toEqual([
      { name: resource, resources: [{ resourceID: "gpu0", health: "Unhealthy" }] },
    ]);
    await world.managers.release(pod.metadata.uid);
    expect(world.store.manager.inUse.get(resource)?.size ?? 0).toBe(0);
    const file = JSON.parse((await world.files.readText(checkpoint)) ?? "{}") as object;
    expect(file).toMatchObject({ Data: { PodDeviceEntries: null } });
  });

  test("are not in statuses where the feature gate is off", async () => {
    const gates = { ...noPinning.gates, reportsHealth: false };
    const world = await withPlugin(undefined, { ...noPinning, gates });
    const pod = gpuPod("a", "1");
    world.want(pod);
    await world.managers.admit(pod);
    world.plugin.report("Unhealthy", "Healthy");
    const status = {
      containerStatuses: [{ name: "main", image: "", imageID: "", ready: true, restartCount: 0 }],
    };
    expect(world.managers.withHealth(pod, status)).toEqual(status);
  });
});
