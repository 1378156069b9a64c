import { describe, expect, test } from "vitest";
import { NodeWorld } from "../../../test/sim/node-world.ts";
import { ApiError } from "../../model/api-error.ts";

const nodePath = "/api/v1/nodes/conf-node";
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/conf-node";

/** Without what the lease does beside. */
function withoutLease(requests: readonly string[]): readonly string[] {
  return requests.filter((request) => !request.includes("/leases"));
}

describe("a node of a cluster", () => {
  test("registers, gets its CSINode and is ready", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(1000);
    expect(world.node?.metadata?.labels).toMatchObject({ "kubernetes.io/hostname": "conf-node" });
    expect(world.condition("Ready")).toBe("True");
    expect(world.api.get("/apis/storage.k8s.io/v1/csinodes/conf-node")?.metadata).toMatchObject({
      ownerReferences: [{ kind: "Node", name: "conf-node", uid: world.node?.metadata?.uid }],
    });
    expect(world.events.map(({ reason }) => reason)).toEqual([
      "Starting",
      "NodeHasSufficientMemory",
      "NodeHasNoDiskPressure",
      "NodeHasSufficientPID",
      "NodeReady",
    ]);
    await world.stop();
  });

  test("keeps what others put on a node that was there before", async () => {
    const world = new NodeWorld({ nodeLabels: { zone: "a" } });
    world.api.put(nodePath, {
      metadata: {
        labels: { other: "x", "kubernetes.io/hostname": "old" },
        annotations: { a: "1" },
      },
      spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
      status: { capacity: { "example.com/gpu": "4" }, allocatable: { "example.com/gpu": "4" } },
    });
    world.start();
    await world.clock.advance(1000);
    expect(world.node?.metadata?.labels).toMatchObject({
      other: "x",
      "kubernetes.io/hostname": "conf-node",
    });
    expect(world.node?.metadata?.labels).not.toHaveProperty("zone");
    expect(world.node?.metadata?.annotations).toEqual({
      a: "1",
      "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    });
    expect(world.node?.spec).toEqual({ taints: [{ key: "k", effect: "NoSchedule" }] });
    expect(world.node?.status?.allocatable).toMatchObject({ "example.com/gpu": "4", cpu: "2" });
    await world.stop();
  });

  test("offers no devices whose plugins another agent served", async () => {
    const world = new NodeWorld();
    world.formerDevices = ["example.com/gpu"];
    const resources = { "example.com/gpu": "4", "example.com/dongle": "2" };
    world.api.put(nodePath, { status: { capacity: resources, allocatable: resources } });
    world.start();
    await world.clock.advance(1000);
    expect(world.node?.status?.allocatable).toMatchObject({
      "example.com/gpu": "0",
      "example.com/dongle": "2",
    });
    await world.stop();
  });

  test("tries again after 100 ms, then twice as long, up to 7 s, until it is let in", async () => {
    const world = new NodeWorld();
    const atMs: number[] = [];
    const letIn = world.api.intercept(({ method, path }) => {
      if (method !== "POST" || path !== "/api/v1/nodes") return undefined;
      atMs.push(world.clock.monotonicMs());
      throw new ApiError(500, "InternalError", "no");
    });
    world.start();
    await world.clock.advance(27_000);
    expect(atMs).toEqual([100, 300, 700, 1500, 3100, 6300, 12_700, 19_700, 26_700]);
    letIn();
    await world.clock.advance(8000);
    expect(world.condition("Ready")).toBe("True");
    await world.stop();
  });

  test("does not register when that is switched off, and serves a node that someone else made", async () => {
    const world = new NodeWorld({ registerNode: false });
    world.start();
    await world.clock.advance(30_000);
    expect(world.node).toBeUndefined();
    world.api.put(nodePath, {});
    await world.clock.advance(12_000);
    expect(world.condition("Ready")).toBe("True");
    await world.stop();
  });

  test("computes its status every 10 s, and reports it every 5 min when nothing changes", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(15_000);
    world.takeRequests();
    await world.clock.advance(270_000);
    expect(withoutLease(world.takeRequests())).toEqual([]);
    await world.clock.advance(40_000);
    expect(withoutLease(world.takeRequests())).toEqual([`PATCH ${nodePath}/status`]);
    await world.clock.advance(310_000);
    expect(withoutLease(world.takeRequests())).toEqual([`PATCH ${nodePath}/status`]);
    await world.stop();
  });

  test("reports a change at once when an update is requested, and nothing when nothing changed", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(1000);
    world.takeRequests();
    world.agent.requestUpdate();
    await world.clock.advance(200);
    expect(withoutLease(world.takeRequests())).toEqual([]);
    world.report = { ...world.report, problems: ["container runtime is down"] };
    world.pressures = ["DiskPressure"];
    world.events.length = 0;
    world.agent.requestUpdate();
    await world.clock.advance(200);
    expect(world.condition("Ready")).toBe("False");
    expect(world.condition("DiskPressure")).toBe("True");
    expect(world.events.map(({ reason }) => reason)).toEqual([
      "NodeHasDiskPressure",
      "NodeNotReady",
    ]);
    await world.stop();
  });

  test("comes back when it was deleted, with a new CSINode and a new lease", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(15_000);
    const uid = world.node?.metadata?.uid;
    world.api.remove(nodePath);
    world.api.remove(leasePath);
    await world.clock.advance(15_000);
    expect(world.node?.metadata?.uid).not.toBe(uid);
    expect(world.condition("Ready")).toBe("True");
    const owner = [
      { apiVersion: "v1", kind: "Node", name: "conf-node", uid: world.node?.metadata?.uid },
    ];
    expect(world.api.get("/apis/storage.k8s.io/v1/csinodes/conf-node")?.metadata).toMatchObject({
      ownerReferences: owner,
    });
    await world.clock.advance(11_000);
    expect(world.api.get(leasePath)?.metadata).toMatchObject({ ownerReferences: owner });
    await world.stop();
  });

  test("waits for an API server that is away, and then reports what has changed", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(15_000);
    world.api.goDown();
    world.pressures = ["MemoryPressure"];
    await world.clock.advance(60_000);
    world.api.comeBack();
    await world.clock.advance(12_000);
    expect(world.condition("MemoryPressure")).toBe("True");
    expect(
      world.events.filter(({ reason }) => reason === "NodeHasInsufficientMemory"),
    ).toHaveLength(1);
    await world.stop();
  });

  test("asks the server itself when a change of its own did not fit", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(15_000);
    let refusals = 0;
    world.api.intercept(({ method, path }) => {
      if (method !== "PATCH" || path !== `${nodePath}/status` || refusals > 0) return undefined;
      refusals++;
      throw new ApiError(409, "Conflict", "someone was faster");
    });
    world.images = [{ id: "i", repoTags: ["a:1"], size: 5n }];
    world.takeRequests();
    await world.clock.advance(131_000);
    expect(withoutLease(world.takeRequests())).toEqual([
      `PATCH ${nodePath}/status`,
      `GET ${nodePath}`,
      `PATCH ${nodePath}/status`,
    ]);
    expect(world.node?.status?.images).toEqual([{ names: ["a:1"], sizeBytes: 5 }]);
    await world.stop();
  });

  test("passes the pods' network on to the runtime once", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(1000);
    world.api.put(nodePath, { ...world.node, spec: { podCIDRs: ["10.1.0.0/24", "fd01::/64"] } });
    await world.clock.advance(25_000);
    expect(world.podCidrs).toEqual(["10.1.0.0/24,fd01::/64"]);
    await world.stop();
  });

  test("reports a reboot once, and being cordoned", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(1000);
    world.events.length = 0;
    world.machine = { ...world.machine, bootId: "boot-2" };
    world.api.put(nodePath, { ...world.node, spec: { unschedulable: true } });
    await world.clock.advance(25_000);
    expect(world.events).toEqual([
      {
        type: "Warning",
        reason: "Rebooted",
        message: "Node conf-node has been rebooted, boot id: boot-2",
      },
      {
        type: "Normal",
        reason: "NodeNotSchedulable",
        message: "Node conf-node status is now: NodeNotSchedulable",
      },
    ]);
    await world.stop();
  });
});

test("a node that is new to its cluster measures how long its start took", async () => {
  const world = new NodeWorld();
  world.start();
  await world.clock.advance(1000);
  expect(Object.fromEntries(world.metrics)).toEqual({
    kubelet_node_name: 1,
    kubelet_node_startup_pre_kubelet_duration_seconds: 60,
    kubelet_node_startup_pre_registration_duration_seconds: 0,
    kubelet_node_startup_registration_duration_seconds: 0.1,
    kubelet_node_startup_post_registration_duration_seconds: 0,
    kubelet_node_startup_duration_seconds: 60.1,
  });
  await world.stop();
});

describe("volumes in use", () => {
  const volumesInUse = (world: NodeWorld): unknown => world.node?.status?.volumesInUse;

  test("stay as the API server has them until all that was found on disk is known", async () => {
    const world = new NodeWorld();
    world.api.put(nodePath, { status: { volumesInUse: ["csi^a", "csi^b"] } });
    world.start();
    await world.clock.advance(25_000);
    expect(volumesInUse(world)).toEqual(["csi^a", "csi^b"]);
    world.volumesInUse = ["csi^a"];
    world.agent.requestUpdate();
    await world.clock.advance(200);
    expect(volumesInUse(world)).toEqual(["csi^a"]);
    await world.stop();
  });

  test("are reported at once when one comes, and handed back when the API server has them", async () => {
    const world = new NodeWorld();
    world.volumesInUse = [];
    world.start();
    await world.clock.advance(1000);
    world.reportedInUse.length = 0;
    world.volumesInUse = ["csi^a"];
    world.agent.requestUpdate();
    // Without the time in which other changes are gathered.
    await world.clock.advance(1);
    expect(volumesInUse(world)).toEqual(["csi^a"]);
    expect(world.reportedInUse).toEqual([["csi^a"]]);
    await world.clock.advance(10_500);
    expect(world.reportedInUse).toEqual([["csi^a"], ["csi^a"]]);
    world.volumesInUse = [];
    world.agent.requestUpdate();
    await world.clock.advance(200);
    expect(world.node?.status).not.toHaveProperty("volumesInUse");
    expect(world.reportedInUse.at(-1)).toEqual([]);
    await world.stop();
  });

  test("do not count as reported while the API server refuses the status", async () => {
    const world = new NodeWorld();
    world.volumesInUse = [];
    world.start();
    await world.clock.advance(1000);
    world.reportedInUse.length = 0;
    const accept = world.api.intercept(({ method }) => {
      if (method === "PATCH") throw new ApiError(500, "InternalError", "no");
      return undefined;
    });
    world.volumesInUse = ["csi^a"];
    world.agent.requestUpdate();
    await world.clock.advance(15_000);
    expect(world.reportedInUse).toEqual([]);
    accept();
    await world.clock.advance(11_000);
    expect(world.reportedInUse[0]).toEqual(["csi^a"]);
    await world.stop();
  });
});

describe("a node's lease", () => {
  test("is made once the node is there, and renewed every quarter of its time", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(61_000);
    const requests = world.takeRequests().filter((request) => request.includes("/leases"));
    expect(requests.map((request) => request.split(" ")[0])).toEqual([
      "GET",
      "GET",
      "POST",
      "PUT",
      "PUT",
      "PUT",
      "PUT",
    ]);
    expect(world.api.get(leasePath)).toMatchObject({
      metadata: { ownerReferences: [{ uid: world.node?.metadata?.uid }] },
      spec: { holderIdentity: "conf-node", leaseDurationSeconds: 40 },
    });
    await world.stop();
  });

  test("is taken over from another writer", async () => {
    const world = new NodeWorld();
    world.start();
    await world.clock.advance(15_000);
    const lease = world.api.get(leasePath);
    world.api.put(leasePath, { ...lease, spec: { holderIdentity: "other", renewTime: "old" } });
    world.takeRequests();
    await world.clock.advance(10_000);
    const requests = world.takeRequests().filter((request) => request.includes("/leases"));
    expect(requests).toEqual([`PUT ${leasePath}`, `GET ${leasePath}`, `PUT ${leasePath}`]);
    expect(world.api.get(leasePath)?.["spec"]).not.toMatchObject({ renewTime: "old" });
    await world.stop();
  });
});
