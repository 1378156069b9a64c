import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import * as v1 from "../../generated/dra.ts";
import { DRAResourceHealthService } from "../../generated/dra-health.ts";
import * as v1beta1 from "../../generated/dra-v1beta1.ts";
import type { DeviceHealth } from "../../model/generated/dra-health.ts";
import type { DraPluginClient, DraServiceName } from "../../ports/dra-plugins.ts";
import { createDraPlugins } from "./dra-plugins.ts";

const signal = (): AbortSignal => AbortSignal.timeout(30_000);

let folder: string;
let socketPath: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-dra-"));
  socketPath = join(folder, "dra.sock");
});

afterEach(() => rmSync(folder, { recursive: true }));

type Done = (error: object | null, response?: object) => void;

/** A driver that answers with `methods`. */
function serveDriver(
  service: ServiceDefinition,
  methods: UntypedServiceImplementation,
): Promise<Server> {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  server.addService(service, methods);
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve(server) : reject(error),
    );
  });
}

function connect(
  service: DraServiceName = "v1.DRAPlugin",
  onConnected: (isConnected: boolean) => void = () => undefined,
  timeoutMs?: number,
): DraPluginClient {
  const client = createDraPlugins({ timeoutMs }).connect(socketPath, service, onConnected);
  onTestFinished(() => client.close());
  return client;
}

const claims = [{ namespace: "ns", uid: "u", name: "c" }];
const device = {
  requestNames: ["r"],
  poolName: "pool",
  deviceName: "dev",
  cdiDeviceIds: ["vendor.com/gpu=1"],
};

test.each([
  ["v1.DRAPlugin", v1.DRAPluginService, "share"],
  // It has no field for it.
  ["v1beta1.DRAPlugin", v1beta1.DRAPluginService, undefined],
] as const)("claims are prepared and unprepared with %s", async (service, definition, shareId) => {
  const requests: unknown[] = [];
  await serveDriver(definition, {
    nodePrepareResources: ({ request }: { request: unknown }, done: Done) => {
      requests.push(request);
      done(null, { claims: { u: { devices: [{ ...device, shareId: "share" }], error: "" } } });
    },
    nodeUnprepareResources: ({ request }: { request: unknown }, done: Done) => {
      requests.push(request);
      done(null, { claims: { u: { error: "busy" } } });
    },
  });
  const client = connect(service);
  const prepared = await client.nodePrepareResources({ claims }, signal());
  expect(prepared.claims?.["u"]?.devices).toEqual([
    shareId === undefined ? device : { ...device, shareId },
  ]);
  expect(await client.nodeUnprepareResources({ claims }, signal())).toEqual({
    claims: { u: { error: "busy" } },
  });
  expect(requests).toEqual([{ claims }, { claims }]);
});

test("a device without a share has none", async () => {
  await serveDriver(v1.DRAPluginService, {
    nodePrepareResources: (_: unknown, done: Done) =>
      done(null, { claims: { u: { devices: [device], error: "" } } }),
  });
  const { claims: answers } = await connect().nodePrepareResources({ claims }, signal());
  expect(answers?.["u"]?.devices?.[0]?.shareId).toBeUndefined();
});

test("the health of devices is handed over whenever the driver reports it", async () => {
  const reports: (readonly DeviceHealth[])[] = [];
  const abort = new AbortController();
  const health = {
    device: { poolName: "p", deviceName: "d" },
    health: 2 as const,
    lastUpdatedTime: 5n,
    healthCheckTimeoutSeconds: 30n,
    message: "hot",
  };
  await serveDriver(DRAResourceHealthService, {
    nodeWatchResources: (stream: { write(message: object): void }) => {
      stream.write({ devices: [health] });
    },
  });
  const onReport = (devices: readonly DeviceHealth[]): void => {
    reports.push(devices);
    abort.abort();
  };
  await connect().watchHealth(onReport, abort.signal);
  expect(reports).toEqual([[health]]);
});

test("a driver that reports no health says so", async () => {
  await serveDriver(v1.DRAPluginService, {});
  await expect(connect().watchHealth(() => undefined, signal())).rejects.toMatchObject({
    code: "Unimplemented",
  });
});

test("a driver that does not answer is given up after the deadline", async () => {
  await serveDriver(v1.DRAPluginService, { nodePrepareResources: () => undefined });
  const hurried = connect("v1.DRAPlugin", undefined, 100);
  await expect(hurried.nodePrepareResources({ claims }, signal())).rejects.toMatchObject({
    code: "DeadlineExceeded",
    message: "context deadline exceeded",
  });
});

test("it is reported that a driver came, went and came back; until the client is closed", async () => {
  const changes: boolean[] = [];
  const client = connect("v1.DRAPlugin", (isConnected) => changes.push(isConnected));
  const prepare = (): Promise<unknown> => client.nodePrepareResources({ claims }, signal());
  await expect(prepare()).rejects.toMatchObject({ code: "Unavailable" });
  const methods = {
    nodePrepareResources: (_: unknown, done: Done) => done(null, { claims: {} }),
  };
  const first = await serveDriver(v1.DRAPluginService, methods);
  await expect.poll(() => changes, { timeout: 30_000 }).toEqual([true]);
  first.forceShutdown();
  await expect.poll(() => changes, { timeout: 30_000 }).toEqual([true, false]);
  const second = await serveDriver(v1.DRAPluginService, methods);
  await expect.poll(() => changes, { timeout: 30_000 }).toEqual([true, false, true]);
  expect(await prepare()).toEqual({ claims: {} });
  client.close();
  second.forceShutdown();
  await expect(prepare()).rejects.toMatchObject({ code: "Unavailable" });
  expect(changes).toEqual([true, false, true]);
});
