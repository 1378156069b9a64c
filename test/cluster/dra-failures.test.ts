import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";
import { runtimeContainerId } from "../../src/model/ids.ts";
import type { Pod } from "../../src/model/pod.ts";
import { testedAgent } from "./support/cluster-node.ts";
import {
  containersOf,
  isReady,
  podsPath,
  restartsOf,
  untilNoPods,
  untilPod,
} from "./support/cluster-pods.ts";
import { allocatedResources, DraWorld, slicesPath } from "./support/dra-world.ts";

/** An agent that starts deletes all slices, as a kubelet does; it can take their driver a minute to see that and publish them again. */
const timeoutMs = 150_000;
let world: DraWorld;

beforeAll(async () => {
  world = await DraWorld.start();
  await world.createTemplate("one");
});

afterAll(() => world.close());

beforeEach(() => {
  onTestFailed(() => console.error(world.cluster.node.lastWords()));
});

const untilReady = (name: string): Promise<Pod> =>
  untilPod(world.cluster.api, name, isReady, timeoutMs);

const fromTemplate = (name: string): Promise<Pod> =>
  world.createPod(name, { resourceClaimTemplateName: "one" });

async function untilTrue(isReached: () => boolean): Promise<void> {
  await expect.poll(isReached, { timeout: timeoutMs, interval: 200 }).toBe(true);
}

async function untilGone(name: string): Promise<void> {
  await untilNoPods(world.cluster.api, `?fieldSelector=metadata.name=${name}`, timeoutMs);
}

function claimOf({ status }: Pod): string {
  return status?.resourceClaimStatuses?.[0]?.resourceClaimName ?? "";
}

/** Whether the driver was asked to give a claim back, and has done so. */
function isGivenBack(claim: string): boolean {
  return world.driver.calls.some(
    ({ method, state, error, claims }) =>
      method === "NodeUnprepareResources" &&
      state === "ended" &&
      error === "" &&
      claims?.some(({ name }) => name === claim) === true,
  );
}

test("the health that a driver reports of a device shows in the status of its pod", async () => {
  await fromTemplate("healthy");
  const pod = await untilReady("healthy");
  const { metadata, status } = await world.claim(claimOf(pod));
  const device = status?.allocation?.devices?.results?.[0]?.device ?? "";
  const resourceID = `${world.driver.name}/test=claim-${metadata?.uid}-device`;
  for (const [health, message] of [
    ["Unhealthy", "temperature: 95 degrees"],
    ["Unhealthy", "memory is corrupt"],
    ["Healthy", "recovered after a reset"],
  ] as const) {
    world.driver.setHealth(device, health, message);
    const shown = await untilPod(
      world.cluster.api,
      "healthy",
      (found) => JSON.stringify(allocatedResources(found) ?? "").includes(message),
      timeoutMs,
    );
    expect(allocatedResources(shown)).toEqual([
      { name: "claim:device", resources: [{ resourceID, health, message }] },
    ]);
  }
});

test("a driver that dies costs running pods nothing: also a container that restarts meanwhile keeps its device", async () => {
  const before = await untilReady("healthy");
  await world.driver.kill();
  await fromTemplate("waiting");
  await untilPod(
    world.cluster.api,
    "waiting",
    ({ status }) => (status?.containerStatuses ?? []).length > 0,
    timeoutMs,
  );
  expect(await world.sandboxes()).not.toContain("waiting");
  const [[id]] = Object.values(containersOf(before)) as [[string]];
  await world.cluster.runtime.runtime.stopContainer(
    runtimeContainerId(id.replace("containerd://", "")),
    0,
    AbortSignal.timeout(timeoutMs),
  );
  await untilPod(
    world.cluster.api,
    "healthy",
    (pod) => isReady(pod) && restartsOf(pod) === 1,
    timeoutMs,
  );
  expect(await world.devicesInside("healthy")).toEqual([
    `${claimOf(before).replaceAll("-", "_")}_device`,
  ]);
  await world.driver.start();
  await untilReady("waiting");
  await world.cluster.api.delete(`${podsPath}/waiting`);
  await untilGone("waiting");
});

test("an agent that is killed after a claim was prepared, and before the sandbox, goes on with it", async () => {
  const { driver, cluster } = world;
  const prepared = driver.ended("NodePrepareResources").length;
  driver.hang("NodePrepareResources");
  const begun = driver.calls.length;
  await fromTemplate("interrupted");
  await untilTrue(() => driver.calls.length > begun);
  await cluster.node.stop("SIGKILL");
  driver.goOn("NodePrepareResources");
  await untilTrue(() => driver.ended("NodePrepareResources").length > prepared);
  expect(await world.sandboxes()).not.toContain("interrupted");
  await cluster.startNode(testedAgent);
  const name = claimOf(await untilReady("interrupted"));
  expect(await world.devicesInside("interrupted")).toEqual([`${name.replaceAll("-", "_")}_device`]);
  await cluster.api.delete(`${podsPath}/interrupted`);
  await untilGone("interrupted");
  expect(isGivenBack(name)).toBe(true);
});

test("a claim of a pod that is deleted by force while the agent is dead is given back", async () => {
  const { driver, cluster } = world;
  driver.hang("NodePrepareResources");
  const begun = driver.calls.length;
  await fromTemplate("forgotten");
  await untilTrue(() => driver.calls.length > begun);
  const name = driver.calls.at(-1)?.claims?.[0]?.name ?? "";
  await cluster.node.stop("SIGKILL");
  driver.goOn("NodePrepareResources");
  await untilTrue(() => driver.ended("NodePrepareResources").flat().includes(name));
  await cluster.api.delete(`${podsPath}/forgotten`, { gracePeriodSeconds: 0 });
  await untilGone("forgotten");
  await cluster.startNode(testedAgent);
  await untilTrue(() => isGivenBack(name));
  expect(await world.sandboxes()).not.toContain("forgotten");
});

test("a claim of a pod that is deleted by force is given back", async () => {
  await fromTemplate("forced");
  const name = claimOf(await untilReady("forced"));
  await world.cluster.api.delete(`${podsPath}/forced`, { gracePeriodSeconds: 0 });
  await expect.poll(() => isGivenBack(name), { timeout: timeoutMs }).toBe(true);
});

test("a claim that its driver cannot give back keeps its pod until it can", async () => {
  const { driver, cluster } = world;
  await fromTemplate("stuck");
  const name = claimOf(await untilReady("stuck"));
  driver.fail("NodeUnprepareResources", "busy");
  const ended = driver.ended("NodeUnprepareResources").length;
  await cluster.api.delete(`${podsPath}/stuck`);
  await untilTrue(() => driver.ended("NodeUnprepareResources").length > ended + 1);
  const [pod] = await cluster.api.list<Pod>(`${podsPath}?fieldSelector=metadata.name=stuck`);
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
  driver.fail("NodeUnprepareResources", undefined);
  await untilGone("stuck");
  expect(isGivenBack(name)).toBe(true);
});

test("a driver with only the older API is called with that", async () => {
  const { cluster } = world;
  await using older = await DraWorld.startDriver(cluster, ["--v1=false"]);
  await world.createClass("older", older);
  await world.createClaim("older", { name: "device", exactly: { deviceClassName: "older" } });
  await world.createPod("older", { resourceClaimName: "older" });
  await untilReady("older");
  expect(await world.devicesInside("older")).toEqual(["older_device"]);
  expect(new Set(older.calls.map(({ service }) => service))).toEqual(
    new Set(["k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin"]),
  );
  await cluster.api.delete(`${podsPath}/older`);
  await untilGone("older");
});

test("what a driver offers is taken from the scheduler when it stays away, and is back with it", async () => {
  const { api } = world.cluster;
  const path = `${slicesPath}?fieldSelector=spec.driver=${world.driver.name}`;
  await api.until(path, (slices) => slices.length === 1, timeoutMs);
  await world.driver.stop();
  await api.until(path, (slices) => slices.length === 0, timeoutMs);
  await world.driver.start();
  await api.until(path, (slices) => slices.length === 1, timeoutMs);
  await fromTemplate("back");
  expect(isReady(await untilReady("back"))).toBe(true);
});

test("at the end nothing is left", async () => {
  const { api } = world.cluster;
  for (const name of ["healthy", "back"]) await api.delete(`${podsPath}/${name}`);
  await untilNoPods(api, "", timeoutMs);
  expect(await world.cluster.leftovers(timeoutMs)).toEqual([]);
  expect(world.checkpoint()).toContain('\\"ClaimInfoStateList\\":[]');
});
