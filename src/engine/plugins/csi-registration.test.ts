// CSI drivers register with a real API client's stand-in, and are asked over real sockets.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server, ServerCredentials, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { createCsiDrivers } from "../../drivers/csi/csi-drivers.ts";
import { systemClock } from "../../drivers/linux/system-clock.ts";
import { NodeService } from "../../generated/csi.ts";
import type { CSINode, Node } from "../../model/generated/kubernetes.ts";
import { CsiNode } from "../node/csi-node.ts";
import { CsiDriverRegistry } from "./csi-driver-registry.ts";
import { CsiRegistration } from "./csi-registration.ts";

const nodePath = "/api/v1/nodes/node-a";
const csiNodePath = "/apis/storage.k8s.io/v1/csinodes/node-a";
const signal = AbortSignal.timeout(60_000);

let folder: string;
let endpoint: string;
let server: Server;
let nodeIdAnswer: string | undefined;
let api: MemoryApi;
let csiNode: CsiNode;
let registry: CsiDriverRegistry;
let retried: string[];
let handler: CsiRegistration;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-csi-registration-"));
  endpoint = join(folder, "csi.sock");
  nodeIdAnswer = "i-1";
  server = new Server();
  server.addService(NodeService, {
    nodeGetInfo: (
      _: unknown,
      answer: (error: Partial<ServiceError> | null, info?: object) => void,
    ) => {
      if (nodeIdAnswer === undefined) answer({ code: status.UNAVAILABLE, details: "not yet" });
      else {
        const accessibleTopology = { segments: { "example.com/zone": "z1" } };
        answer(null, { nodeId: nodeIdAnswer, maxVolumesPerNode: 3n, accessibleTopology });
      }
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${endpoint}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  api = new MemoryApi();
  await createNode();
  registry = new CsiDriverRegistry();
  retried = [];
  const wakeups = { retryVolumesOf: (name: string) => void retried.push(name) };
  const shared = { clock: systemClock, log: silentLog, wakeups };
  csiNode = new CsiNode({ ...shared, api, random: Math.random, nodeName: "node-a" });
  const drivers = createCsiDrivers();
  handler = new CsiRegistration({ ...shared, registry, drivers, csiNode, allocatable: undefined });
});

afterEach(async () => {
  server.forceShutdown();
  await rm(folder, { recursive: true });
});

async function createNode(): Promise<void> {
  const body = { apiVersion: "v1", kind: "Node", metadata: { name: "node-a" } };
  await api.send({ method: "POST", path: "/api/v1/nodes", body }, signal);
}

function readNode(): Promise<Node> {
  return api.send<Node>({ method: "GET", path: nodePath }, signal);
}

async function readDrivers(): Promise<CSINode["spec"]["drivers"]> {
  const { spec } = await api.send<CSINode>({ method: "GET", path: csiNodePath }, signal);
  return spec.drivers;
}

const plugin = (versions = ["1.0.0"]) => ({
  name: "disk.example.com",
  endpoint,
  supportedVersions: versions,
});

const installed = {
  name: "disk.example.com",
  nodeID: "i-1",
  topologyKeys: ["example.com/zone"],
  allocatable: { count: 3 },
};

test("a driver's answer is in the CSINode object, and in annotation and labels of the node, until it goes", async () => {
  await csiNode.ensure(await readNode(), signal);
  expect(await handler.register(plugin(), signal)).toEqual({ ok: true });
  expect(await readDrivers()).toEqual([installed]);
  const { metadata } = await readNode();
  expect(metadata?.labels).toEqual({ "example.com/zone": "z1" });
  expect(metadata?.annotations).toEqual({
    "csi.volume.kubernetes.io/nodeid": '{"disk.example.com":"i-1"}',
  });
  await handler.deregister(plugin(), signal);
  expect(await readDrivers()).toEqual([]);
  expect((await readNode()).metadata?.annotations ?? {}).toEqual({});
  expect(registry.drivers.size).toBe(0);
});

test("a driver that cannot answer is not registered", async () => {
  nodeIdAnswer = undefined;
  expect(await handler.register(plugin(), signal)).toEqual({
    ok: false,
    error: "rpc error: code = Unavailable desc = not yet",
  });
  expect(registry.drivers.size).toBe(0);
});

test("a node that is registered again gets the drivers that are here", async () => {
  await csiNode.ensure(await readNode(), signal);
  await handler.register(plugin(), signal);
  await api.send({ method: "DELETE", path: nodePath }, signal);
  await createNode();
  await csiNode.ensure(await readNode(), signal);
  expect(csiNode.problem).toBeUndefined();
  expect(await readDrivers()).toEqual([installed]);
  expect((await readNode()).metadata?.labels).toEqual({ "example.com/zone": "z1" });
});

test("the end of a socket that another one has replaced leaves the driver registered", async () => {
  registry.set("disk.example.com", { endpoint: "/new.sock", version: { components: [1n, 1n] } });
  await handler.deregister({ name: "disk.example.com", endpoint: "/old.sock" }, signal);
  expect(registry.drivers.size).toBe(1);
});

test("without a cluster a driver is registered here alone", async () => {
  const drivers = createCsiDrivers();
  const alone = new CsiRegistration({
    registry,
    drivers,
    csiNode: undefined,
    allocatable: undefined,
    log: silentLog,
    wakeups: { retryVolumesOf: (name) => void retried.push(name) },
  });
  api.requests.splice(0);
  expect(await alone.register(plugin(), signal)).toEqual({ ok: true });
  expect(registry.drivers.get("disk.example.com")?.endpoint).toBe(endpoint);
  expect(retried).toEqual(["disk.example.com"]);
  expect(api.requests).toEqual([]);
});
