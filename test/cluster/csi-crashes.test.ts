import { afterAll, beforeAll, expect, test } from "vitest";
import type { CsiCall, CsiRule } from "../integration/support/csi-driver.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import { eventually } from "./support/eventually.ts";
import { claimed, StorageWorld, storageTimeoutMs } from "./support/storage-world.ts";

/** When something dies: before the driver has done what it was called for, or after that but before its answer. */
type Point = Pick<CsiRule, "method" | "afterwards">;

const mounting = pointsOf("NodeStageVolume", "NodePublishVolume");
const unmounting = pointsOf("NodeUnpublishVolume", "NodeUnstageVolume");

function pointsOf(...methods: readonly string[]): readonly Point[] {
  return methods.flatMap((method) => [
    { method, afterwards: false },
    { method, afterwards: true },
  ]);
}

interface InUse {
  readonly atMs: number;
  readonly names: readonly string[];
}

let world: StorageWorld;
const stop = new AbortController();
const inUse: InUse[] = [];
let watching: Promise<void>;

beforeAll(async () => {
  world = await StorageWorld.start();
  watching = world.watchNode(({ status }) => {
    inUse.push({ atMs: Date.now(), names: status?.volumesInUse ?? [] });
  }, stop.signal);
});

afterAll(async () => {
  stop.abort();
  await watching;
  await world.close();
});

test("a driver that dies at any point of a volume's life costs neither volume nor data", async () => {
  const { api } = world;
  await world.createClaim("driver");
  await driverDiesAt(mounting, () => world.createPodWith("driver", claimed("driver")));
  await untilPod(api, "driver", isReady, storageTimeoutMs);
  expectMountedOnce();
  const written = await world.writeData("driver");
  await driverDiesAt(unmounting, () => api.delete(`${podsPath}/driver`));
  await untilNoPods(api, "", storageTimeoutMs);
  await expectReleased("driver");
  await world.startPodWith("driver-next", claimed("driver"));
  expect(await world.readData("driver-next")).toBe(written);
  await world.deletePod("driver-next");
  await expectReleased("driver");
});

test("an agent that dies at any point of a volume's life costs neither volume nor data", async () => {
  const { api } = world;
  await world.createClaim("agent");
  await agentDiesAt(mounting, () => world.createPodWith("agent", claimed("agent")));
  await untilPod(api, "agent", isReady, storageTimeoutMs);
  expectMountedOnce();
  const written = await world.writeData("agent");
  // A kubelet forgets what is staged for no pod: here Berth does more.
  const points = testedAgent === "berth" ? unmounting : pointsOf("NodeUnpublishVolume");
  await agentDiesAt(points, () => api.delete(`${podsPath}/agent`));
  await untilNoPods(api, "", storageTimeoutMs);
  await expectReleased("agent");
  await world.startPodWith("agent-next", claimed("agent"));
  expect(await world.readData("agent-next")).toBe(written);
  await world.deletePod("agent-next");
  await expectReleased("agent");
});

/** The driver dies at one point after the other, each time while it is called again. */
async function driverDiesAt(
  points: readonly Point[],
  begin: () => Promise<unknown>,
): Promise<void> {
  const { driver } = world;
  const rules = points.map((point) => [{ ...point, die: true }]);
  await driver.setRules(rules[0] ?? []);
  await begin();
  for (const next of [...rules.slice(1), []]) {
    await driver.ended();
    await driver.start(next);
  }
}

/** The agent dies at one point after the other; the driver has not answered it then. */
async function agentDiesAt(points: readonly Point[], begin: () => Promise<unknown>): Promise<void> {
  const { driver, cluster } = world;
  const rules = points.map((point) => [{ ...point, hang: true }]);
  const open = ({ method }: Point): readonly CsiCall[] =>
    driver.calls(method).filter(({ code }) => code === undefined);
  await driver.setRules(rules[0] ?? []);
  const known = new Set(points.flatMap(open).map(keyOf));
  await begin();
  for (const [index, point] of points.entries()) {
    const isNew = (call: CsiCall): boolean => !known.has(keyOf(call));
    const calls = await eventually(
      async () => open(point),
      (found) => found.some(isNew),
      storageTimeoutMs,
    );
    for (const call of calls) known.add(keyOf(call));
    await cluster.node.stop("SIGKILL");
    await driver.setRules(rules[index + 1] ?? []);
    cluster.node.start(testedAgent);
  }
}

function keyOf({ process, number }: CsiCall): string {
  return `${process} ${number}`;
}

function expectMountedOnce(): void {
  const points = world.mountPoints();
  expect(points.filter((path, index) => points.indexOf(path) !== index)).toEqual([]);
  expect(points.filter((path) => path.endsWith("/globalmount"))).toHaveLength(1);
  expect(points.filter((path) => path.endsWith("/mount"))).toHaveLength(1);
}

/** Nothing is left of the volume on the node; it was in use for as long as it was there, and detached after that. */
async function expectReleased(claim: string): Promise<void> {
  const { driver } = world;
  await world.untilDetached(claim);
  expect(driver.leftovers()).toEqual([]);
  expect(world.mountPoints().filter((path) => path.includes("kubernetes.io~csi"))).toEqual([]);
  const volumeId = await world.handleOf(claim);
  const calls = (method: string): readonly CsiCall[] =>
    driver.calls(method).filter(({ request }) => request.volumeId === volumeId);
  const name = `kubernetes.io/csi/${driver.name}^${volumeId}`;
  const stagedMs = calls("NodeStageVolume").map(({ beganAtMs }) => beganAtMs);
  const unstaged = calls("NodeUnstageVolume").filter(({ code }) => code === "OK");
  const unstagedMs = unstaged.map(({ endedAtMs = 0 }) => endedAtMs);
  for (const atMs of [...stagedMs, ...unstagedMs]) {
    expect(inUse.findLast((state) => state.atMs <= atMs)?.names).toContain(name);
  }
  const detachedMs = calls("ControllerUnpublishVolume").map(({ beganAtMs }) => beganAtMs);
  expect(Math.max(...detachedMs)).toBeGreaterThanOrEqual(Math.max(...unstagedMs));
  expect(calls("ControllerUnpublishVolume").map(({ code }) => code)).not.toContain(
    "FailedPrecondition",
  );
}
