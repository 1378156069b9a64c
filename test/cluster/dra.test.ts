import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";
import type {
  Event as CoreEvent,
  ResourceResourceClaim,
} from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import {
  claimingSpec,
  type DeviceRequest,
  DraWorld,
  resourceClaimsPath,
} from "./support/dra-world.ts";

const timeoutMs = 120_000;
let world: DraWorld;

beforeAll(async () => {
  world = await DraWorld.start();
});

afterAll(() => world.close());

beforeEach(() => {
  onTestFailed(() => console.error(world.cluster.node.lastWords()));
});

const untilReady = (name: string): Promise<Pod> =>
  untilPod(world.cluster.api, name, isReady, timeoutMs);

async function untilCalled(isReached: () => boolean): Promise<void> {
  await expect.poll(isReached, { timeout: timeoutMs, interval: 200 }).toBe(true);
}

async function remove(...names: readonly string[]): Promise<void> {
  for (const name of names) await world.cluster.api.delete(`${podsPath}/${name}`);
  for (const name of names) {
    await untilNoPods(world.cluster.api, `?fieldSelector=metadata.name=${name}`, timeoutMs);
  }
}

/** The claim that was made for the only entry of a pod's spec. */
function generatedClaim({ status }: Pod): string {
  return status?.resourceClaimStatuses?.[0]?.resourceClaimName ?? "";
}

/** The names of the claims that were given back since the test began. */
function givenBack(since: number): readonly string[] {
  return world.driver.ended("NodeUnprepareResources").slice(since).flat();
}

const asked = (name: string): DeviceRequest => ({
  name,
  exactly: { deviceClassName: world.driver.name },
});

test("a claim made from a template is prepared before the pod's sandbox, and given back after its containers", async () => {
  const { driver, cluster } = world;
  await world.createTemplate("one");
  driver.hang("NodePrepareResources");
  await world.createPod("generated", { resourceClaimTemplateName: "one" });
  await untilCalled(() => driver.calls.length === 1);
  expect(driver.calls[0]?.service).toContain(".v1.DRAPlugin");
  expect(await world.sandboxes()).toEqual([]);
  const unprepared = world.checkpoint();
  driver.goOn("NodePrepareResources");
  const pod = await untilReady("generated");
  const name = generatedClaim(pod);
  const { metadata, status } = await world.claim(name);
  const uid = metadata?.uid ?? "";
  const [result] = status?.allocation?.devices?.results ?? [];
  expect(await world.devicesInside("generated")).toEqual([`${name.replaceAll("-", "_")}_device`]);
  expect(world.podResources("generated")).toMatchObject({
    pod_resources: {
      containers: [
        {
          dynamic_resources: [
            {
              claim_name: name,
              claim_namespace: "default",
              claim_resources: [
                {
                  cdi_devices: [{ name: `${driver.name}/test=claim-${uid}-device` }],
                  driver_name: driver.name,
                  pool_name: "node-a",
                  device_name: result?.device,
                },
              ],
            },
          ],
        },
      ],
    },
  });
  const data = (devices: string): string =>
    `{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"${uid}",` +
    `"ClaimName":"${name}","Namespace":"default","PodUIDs":{"${pod.metadata.uid}":{}},` +
    `"DriverState":{"${driver.name}":{"Devices":${devices}}}}]}`;
  const device =
    `[{"PoolName":"node-a","DeviceName":"${result?.device}","ShareID":null,"RequestNames":["device"],` +
    `"CDIDeviceIDs":["${driver.name}/test=claim-${uid}-device"]}]`;
  // Byte for byte; what cannot be known beforehand is the checksum at its end.
  const file = (text: string): string => `{"Data":${JSON.stringify(text)},"Checksum":`;
  expect(unprepared.replace(/\d+}$/, "")).toBe(file(data("null")));
  expect(world.checkpoint().replace(/\d+}$/, "")).toBe(file(data(device)));

  await remove("generated");
  expect(driver.ended("NodeUnprepareResources")).toEqual([[name]]);
  expect(driver.specs()).toEqual([]);
  await cluster.api.until(resourceClaimsPath, (claims) => claims.length === 0, timeoutMs);
  expect(world.checkpoint()).toContain('\\"ClaimInfoStateList\\":[]');
});

test("a claim that pods share is prepared once, and given back when the last of them has ended", async () => {
  const { driver } = world;
  const [prepared, back] = [
    driver.ended("NodePrepareResources").length,
    driver.ended("NodeUnprepareResources").length,
  ];
  await world.createClaim("shared");
  for (const name of ["sharing-1", "sharing-2"]) {
    await world.createPod(name, { resourceClaimName: "shared" });
    await untilReady(name);
    expect(await world.devicesInside(name)).toEqual(["shared_device"]);
  }
  expect(driver.ended("NodePrepareResources").slice(prepared)).toEqual([["shared"]]);
  await remove("sharing-1");
  expect(givenBack(back)).toEqual([]);
  expect(await world.devicesInside("sharing-2")).toEqual(["shared_device"]);
  await remove("sharing-2");
  expect(givenBack(back)).toEqual(["shared"]);
});

test("containers get the requests that they name, and all claims of a pod are prepared in one call", async () => {
  const { driver } = world;
  const prepared = driver.ended("NodePrepareResources").length;
  await world.createClaim("pair", asked("first"), asked("second"));
  await world.createClaim("single");
  const using = (name: string, ...claims: readonly object[]): ReturnType<typeof shell> =>
    shell(name, untilStopped, { resources: { claims: claims as { readonly name: string }[] } });
  const init = shell("init", "env | grep ^claim_ | sort", {
    resources: { claims: [{ name: "pair", request: "second" }] },
  });
  await createPod(world.cluster.api, "mapped", {
    spec: {
      initContainers: [init],
      containers: [
        using("one", { name: "pair", request: "first" }),
        using("all", { name: "pair" }, { name: "single" }),
        shell("none", untilStopped),
      ],
      resourceClaims: [
        { name: "pair", resourceClaimName: "pair" },
        { name: "single", resourceClaimName: "single" },
      ],
    },
  });
  await untilReady("mapped");
  expect(await world.cluster.kubectl.run("logs", "mapped", "-c", "init")).toBe(
    "claim_pair_second=true\n",
  );
  expect(await world.devicesInside("mapped", "one")).toEqual(["pair_first"]);
  const all = ["pair_first", "pair_second", "single_device"];
  expect(await world.devicesInside("mapped", "all")).toEqual(all);
  expect(await world.devicesInside("mapped", "none")).toEqual([]);
  const calls = driver.ended("NodePrepareResources").slice(prepared);
  expect(calls.map((names) => names.toSorted())).toEqual([["pair", "single"]]);
  await remove("mapped");
});

test("a container gets the alternative that the scheduler chose", async () => {
  const { driver } = world;
  await world.createClass("nothing", driver, {
    selectors: [{ cel: { expression: 'device.driver == "none.berth.test"' } }],
  });
  await world.createClaim("either", {
    name: "device",
    firstAvailable: [
      { name: "best", deviceClassName: "nothing" },
      { name: "other", deviceClassName: driver.name },
    ],
  });
  const spec = claimingSpec(
    { resourceClaimName: "either" },
    {
      containers: [
        shell("main", untilStopped, {
          resources: { claims: [{ name: "device", request: "device" }] },
        }),
      ],
    },
  );
  await createPod(world.cluster.api, "choosing", { spec });
  await untilReady("choosing");
  const { status } = await world.claim("either");
  expect(status?.allocation?.devices?.results?.map(({ request }) => request)).toEqual([
    "device/other",
  ]);
  expect(await world.devicesInside("choosing")).toEqual(["either_device"]);
  await remove("choosing");
});

test("a claim with admin access gets devices that others have", async () => {
  const { api } = world.cluster;
  await api.patch("/api/v1/namespaces/default", {
    metadata: { labels: { "resource.kubernetes.io/admin-access": "true" } },
  });
  const all = { deviceClassName: world.driver.name, allocationMode: "All" };
  await world.createClaim("ordinary", { name: "device", exactly: all });
  await world.createClaim("admin", { name: "device", exactly: { ...all, adminAccess: true } });
  await world.createPod("user", { resourceClaimName: "ordinary" });
  await untilReady("user");
  await world.createPod("watcher", { resourceClaimName: "admin" });
  await untilReady("watcher");
  expect(await world.devicesInside("watcher")).toEqual(["admin_device"]);
  expect((await world.claim("admin")).status?.allocation?.devices?.results).toHaveLength(4);
  await remove("user", "watcher");
});

test("an extended resource that a device class backs comes as a device of a claim of the pod's own", async () => {
  const { api } = world.cluster;
  await world.createClass("gpus", world.driver, { extendedResourceName: "example.com/gpu" });
  const limits = { "example.com/gpu": "2" };
  const spec = { containers: [shell("main", untilStopped, { resources: { limits } })] };
  await createPod(api, "extended", { spec });
  const pod = await untilReady("extended");
  const { resourceClaimName = "" } = pod.status?.extendedResourceClaimStatus ?? {};
  const [inside, ...others] = await world.devicesInside("extended");
  expect(inside).toBe(`${resourceClaimName.replaceAll("-", "_")}_container_0_request_0`);
  expect(others).toEqual([]);
  expect(JSON.stringify(world.podResources("extended"))).toContain(resourceClaimName);
  await remove("extended");
  expect(world.driver.ended("NodeUnprepareResources").at(-1)).toEqual([resourceClaimName]);
  const isGone = (claims: readonly ResourceResourceClaim[]): boolean =>
    !claims.some(({ metadata }) => metadata?.name === resourceClaimName);
  await api.until<ResourceResourceClaim>(resourceClaimsPath, isGone, timeoutMs);
});

test("a claim that is not allocated, or that its driver does not prepare, keeps a pod waiting and says why", async () => {
  const { driver } = world;
  const { api, node } = world.cluster;
  await world.createClaim("unallocated");
  await world.createPod("unready", { resourceClaimName: "unallocated" }, { nodeName: node.name });
  driver.fail("NodePrepareResources", "no power");
  await world.createClaim("refused");
  await world.createPod("failing", { resourceClaimName: "refused" });
  const events = (name: string): string =>
    `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`;
  const says = (text: string) => (found: readonly CoreEvent[]) =>
    found.some(
      ({ reason, message = "" }) =>
        reason === "FailedPrepareDynamicResources" && message.includes(text),
    );
  await api.until<CoreEvent>(
    events("unready"),
    says("is not allowed to use ResourceClaim"),
    timeoutMs,
  );
  await api.until<CoreEvent>(events("failing"), says("no power"), timeoutMs);
  const sandboxes = await world.sandboxes();
  expect(sandboxes).not.toContain("unready");
  expect(sandboxes).not.toContain("failing");
  driver.fail("NodePrepareResources", undefined);
  await untilReady("failing");
  expect(await world.devicesInside("failing")).toEqual(["refused_device"]);
  await remove("failing", "unready");
});

test("at the end nothing is left", async () => {
  expect(await world.cluster.leftovers(timeoutMs)).toEqual([]);
  expect(world.driver.specs()).toEqual([]);
});
