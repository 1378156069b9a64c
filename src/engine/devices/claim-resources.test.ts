import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { noPinning, testManagers } from "../../../test/kit/test-managers.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { ApiError } from "../../model/api-error.ts";
import type { DeviceHealth } from "../../model/generated/dra-health.ts";
import type { ResourceResourceClaim } from "../../model/generated/kubernetes.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import type { PodUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import type { ApiClient, ApiRequest } from "../../ports/api-client.ts";
import type { DraPlugins } from "../../ports/dra-plugins.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { noteStopped, type PodStage, releaseStages } from "../pods/pod-stage.ts";
import { PodTable } from "../pods/pod-table.ts";
import { claimsStage } from "../pods/stages/claims-stage.ts";
import { Holders } from "./holders.ts";

const driver = "gpu.example.com";
const endpoint = "/plugins/gpu.sock";
const { signal } = new AbortController();

class World {
  readonly table: PodTable = new PodTable();
  readonly clock: VirtualClock = new VirtualClock();
  readonly metrics: MetricsRegistry = new MetricsRegistry(metricDefinitions);
  readonly files: MemoryFiles;
  readonly calls: string[] = [];
  readonly events: string[] = [];
  readonly looks: string[] = [];
  readonly parts: ReturnType<typeof testManagers>;
  readonly stage: PodStage;
  failure: string | undefined;
  /** Claims whose preparation is not answered before this is. */
  readonly hung: Map<string, Promise<void>> = new Map();
  setConnected: (isConnected: boolean) => void = () => undefined;
  report: (devices: readonly DeviceHealth[]) => void = () => undefined;
  readonly #wanted = this.table.writer("wanted");

  constructor(files = new MemoryFiles()) {
    const { table, clock, metrics } = this;
    this.files = files;
    const active = new ActivePods(table, loudFaults);
    this.parts = testManagers({
      table,
      files,
      clock,
      metrics,
      settings: { node: { managers: noPinning } },
      holders: new Holders({ table, active, sources: { areAllReady: true } }),
      wakeups: {
        lookAtCpus: () => undefined,
        look: (uid) => void this.looks.push(uid),
        updateNode: () => undefined,
      },
      draPlugins: this.#plugins(),
      apiServer: { api: this.#api() },
    });
    const { claimResources } = this.parts;
    const events = {
      record: (_: unknown, { message }: { readonly message: string }) =>
        void this.events.push(message),
    };
    this.stage = claimsStage({ claimResources, events });
  }

  async start(): Promise<void> {
    await this.parts.managers.start();
    await this.parts.draEndpoints.run(this.parts.claimResources, signal);
  }

  async register(): Promise<void> {
    const plugin = { name: driver, endpoint, supportedVersions: ["v1.DRAPlugin"] };
    await this.parts.draEndpoints.register(plugin);
    this.setConnected(true);
  }

  want(pod: Pod): void {
    this.#wanted.set(pod.metadata.uid, pod);
  }

  prepare(pod: Pod): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    return this.stage.prepare({ pod, observed: emptyObservedPod(uid, name, namespace) }, signal);
  }

  /** The series of DRA, without buckets and sums. */
  counted(): readonly string[] {
    this.parts.managers.collectMetrics();
    const text = this.metrics.text((name) => name.startsWith("dra_"));
    return text.split("\n").filter((line) => line !== "" && !/^#|_bucket|_sum/.test(line));
  }

  #plugins(): DraPlugins {
    return {
      connect: (_path, _service, onConnected) => {
        this.setConnected = onConnected;
        return {
          nodePrepareResources: async ({ claims = [] }) => {
            this.calls.push(`prepare ${claims.map(({ name }) => name).join()}`);
            for (const { name = "" } of claims) await this.hung.get(name);
            const devices = [
              { poolName: "pool", deviceName: "gpu0", cdiDeviceIds: ["example.com/gpu=0"] },
            ];
            const answer = this.failure === undefined ? { devices } : { error: this.failure };
            return { claims: Object.fromEntries(claims.map(({ uid = "" }) => [uid, answer])) };
          },
          nodeUnprepareResources: async ({ claims = [] }) => {
            this.calls.push(`unprepare ${claims.map(({ name }) => name).join()}`);
            return { claims: Object.fromEntries(claims.map(({ uid = "" }) => [uid, {}])) };
          },
          watchHealth: (onReport) => {
            this.report = onReport;
            return new Promise(() => undefined);
          },
          close: () => undefined,
        };
      },
    };
  }

  #api(): ApiClient {
    return {
      send: <T>({ method, path, query }: ApiRequest): Promise<T> => {
        this.calls.push(
          `${method} ${path}${query === undefined ? "" : `?${query["fieldSelector"]}`}`,
        );
        if (method === "DELETE") return Promise.resolve({} as T);
        const name = path.split("/").at(-1) ?? "";
        if (!["shared", "other"].includes(name)) {
          return Promise.reject(new ApiError(404, "NotFound", "no"));
        }
        return Promise.resolve(claimNamed(name) as T);
      },
      watch: () => Promise.resolve(),
    };
  }
}

function claimNamed(name: string): ResourceResourceClaim {
  return {
    metadata: { name, namespace: "default", uid: `uid of ${name}` },
    spec: {},
    status: {
      allocation: {
        devices: { results: [{ driver, pool: "pool", device: "gpu0", request: "gpu" }] },
      },
      reservedFor: ["a", "b"].map((uid) => ({ resource: "pods", name: uid, uid })),
    },
  };
}

function claimPod(uid: string, claim = "shared"): Pod {
  const main = { name: "main", resources: { claims: [{ name: "gpu" }] } };
  const resourceClaims = [{ name: "gpu", resourceClaimName: claim }];
  return testPod({ containers: [main], resourceClaims }, { uid, name: uid });
}

const ofClaim = "GET /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/shared";
const slices = "DELETE /apis/resource.k8s.io/v1/resourceslices";

test("a claim is prepared for its first pod, and taken back after its last one", async () => {
  const world = new World();
  await world.start();
  await world.register();
  const [a, b] = [claimPod("a"), claimPod("b")];
  for (const pod of [a, b]) {
    world.want(pod);
    await world.prepare(pod);
    const options = await world.parts.managers.deviceOptions(pod, {
      name: "main",
      ...pod.spec.containers[0],
    });
    expect(options).toMatchObject({ ok: true, value: { cdiDevices: ["example.com/gpu=0"] } });
  }
  await world.stage.release?.(a, signal);
  await world.stage.release?.(b, signal);
  await world.stage.release?.(b, signal);
  expect(world.calls).toEqual([
    `${slices}?spec.nodeName=node`,
    ofClaim,
    "prepare shared",
    ofClaim,
    "unprepare shared",
  ]);
});

test("claims go back once the containers have ended, also while volumes cannot be unmounted, and not twice", async () => {
  const world = new World();
  await world.start();
  await world.register();
  const pod = claimPod("a");
  world.want(pod);
  await world.prepare(pod);
  const unmount = (): Promise<void> => Promise.reject(new Error("target is busy"));
  const stuck: PodStage = { name: "volumes", prepare: unmount, release: unmount };
  const stages = [world.stage, stuck];
  await noteStopped(stages, pod);
  expect(world.calls.filter((call) => call.startsWith("unprepare"))).toEqual(["unprepare shared"]);
  await expect(releaseStages(stages, pod, signal)).rejects.toThrow("target is busy");
  await releaseStages([world.stage], pod, signal);
  expect(world.calls.filter((call) => call.startsWith("unprepare"))).toEqual(["unprepare shared"]);
});

test("a driver that fails keeps the pod from starting, and says why; the next try goes on", async () => {
  const world = new World();
  await world.start();
  const pod = claimPod("a");
  world.want(pod);
  const missing = `prepare dynamic resources: DRA driver ${driver} is not registered`;
  await expect(world.prepare(pod)).rejects.toThrow(missing);
  expect(world.events).toEqual([`Failed to prepare dynamic resources: ${missing}`]);
  await world.register();
  world.failure = "no power";
  await expect(world.prepare(pod)).rejects.toThrow(/no power/);
  world.failure = undefined;
  await world.prepare(pod);
});

test("a driver that does not answer for one claim holds up only the pods of that claim", async () => {
  const world = new World();
  await world.start();
  await world.register();
  let answer = (): void => undefined;
  world.hung.set("shared", new Promise((resolve) => (answer = resolve)));
  const [first, second, other] = [claimPod("a"), claimPod("b"), claimPod("b", "other")];
  for (const pod of [first, second]) world.want(pod);
  const preparing = [world.prepare(first), world.prepare(second)];
  await world.prepare(other);
  const prepared = (): readonly string[] =>
    world.calls.filter((call) => call.startsWith("prepare"));
  expect(prepared()).toEqual(["prepare shared", "prepare other"]);
  answer();
  await Promise.all(preparing);
  expect(prepared()).toEqual(["prepare shared", "prepare other"]);
});

test("the next agent gives back what a pod left that it does not know", async () => {
  const before = new World();
  await before.start();
  await before.register();
  before.want(claimPod("a"));
  await before.prepare(claimPod("a"));
  const world = new World(before.files);
  await world.start();
  expect(world.parts.claimResources.uses("a" as PodUid)).toBe(true);
  await expect(world.stage.remove?.("a" as PodUid, signal)).rejects.toThrow(/is not registered/);
  await world.register();
  await world.stage.remove?.("a" as PodUid, signal);
  expect(world.parts.claimResources.uses("a" as PodUid)).toBe(false);
  expect(world.calls).toContain("unprepare shared");
});

test("the slices of a driver that stays away are deleted after 30 s, not before", async () => {
  const world = new World();
  await world.start();
  await world.register();
  world.setConnected(false);
  await world.clock.advance(29_000);
  world.setConnected(true);
  await world.clock.advance(60_000);
  expect(world.calls).toEqual([`${slices}?spec.nodeName=node`]);
  await world.parts.draEndpoints.deregister({ name: driver, endpoint });
  await world.clock.advance(31_000);
  expect(world.calls.at(-1)).toBe(`${slices}?spec.driver=${driver},spec.nodeName=node`);
});

test("the health that a driver reports is in the status of the pod", async () => {
  const world = new World();
  await world.start();
  await world.register();
  const pod = claimPod("a");
  world.want(pod);
  await world.prepare(pod);
  world.report([{ device: { poolName: "pool", deviceName: "gpu0" }, health: 2, message: "hot" }]);
  expect(world.looks).toEqual(["a"]);
  const status = {
    containerStatuses: [{ name: "main", image: "", imageID: "", ready: true, restartCount: 0 }],
  };
  const [shown] = world.parts.managers.withHealth(pod, status).containerStatuses ?? [];
  expect(shown?.allocatedResourcesStatus).toEqual([
    {
      name: "claim:gpu",
      resources: [{ resourceID: "example.com/gpu=0", health: "Unhealthy", message: "hot" }],
    },
  ]);
});

test("claims in use, and what drivers and pods took for them, are counted", async () => {
  const world = new World();
  await world.start();
  const pod = claimPod("a");
  world.want(pod);
  await expect(world.prepare(pod)).rejects.toThrow(/is not registered/);
  await world.register();
  await world.prepare(pod);
  const calls = (method: string): string =>
    `dra_grpc_operations_duration_seconds_count{driver_name="${driver}",method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/${method}",grpc_status_code="OK"}`;
  const pods = (operation: string, isError: boolean): string =>
    `dra_operations_duration_seconds_count{operation_name="${operation}",is_error="${isError}"}`;
  const prepared = [
    `${calls("NodePrepareResources")} 1`,
    `${pods("PrepareResources", true)} 1`,
    `${pods("PrepareResources", false)} 1`,
    'dra_resource_claims_in_use{driver_name="<any>"} 1',
    `dra_resource_claims_in_use{driver_name="${driver}"} 1`,
  ];
  expect(world.counted()).toEqual(prepared);
  await world.stage.release?.(pod, signal);
  expect(world.counted()).toEqual([
    `${calls("NodePrepareResources")} 1`,
    `${calls("NodeUnprepareResources")} 1`,
    `${pods("PrepareResources", true)} 1`,
    `${pods("PrepareResources", false)} 1`,
    `${pods("UnprepareResources", false)} 1`,
    'dra_resource_claims_in_use{driver_name="<any>"} 0',
  ]);
});
