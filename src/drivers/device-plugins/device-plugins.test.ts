import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  credentials,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { DevicePluginService, RegistrationService } from "../../generated/device-plugin.ts";
import type { Device, RegisterRequest } from "../../model/generated/device-plugin.ts";
import type { DevicePluginClient } from "../../ports/device-plugins.ts";
import { connectDevicePlugin } from "./device-plugin-client.ts";
import { devicePlugins } from "./device-plugins.ts";

const signal = (): AbortSignal => AbortSignal.timeout(30_000);

let folder: string;
let socketPath: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-device-"));
  socketPath = join(folder, "plugin.sock");
});

afterEach(() => rmSync(folder, { recursive: true }));

type Done = (error: object | null, response?: object) => void;

interface Stream {
  write(message: object): boolean;
  end(): void;
  on(event: "cancelled", listener: () => void): void;
}

/** A plugin that answers with `methods`. */
function servePlugin(methods: UntypedServiceImplementation): Promise<Server> {
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  server.addService(DevicePluginService, methods);
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve(server) : reject(error),
    );
  });
}

async function connected(): Promise<DevicePluginClient> {
  const client = await devicePlugins.connect(socketPath, signal());
  onTestFinished(() => client.close());
  return client;
}

test("a plugin receives the fields of requests, and its answers come back as plain data", async () => {
  const requests: unknown[] = [];
  await servePlugin({
    getDevicePluginOptions: (_: unknown, done: Done) => done(null, { preStartRequired: true }),
    allocate: ({ request }: { request: unknown }, done: Done) => {
      requests.push(request);
      done(null, {
        containerResponses: [
          {
            envs: { A: "1" },
            mounts: [{ containerPath: "/c", hostPath: "/h", readOnly: true }],
            devices: [],
            annotations: {},
            cdiDevices: [{ name: "vendor.com/gpu=1" }],
          },
        ],
      });
    },
    getPreferredAllocation: ({ request }: { request: unknown }, done: Done) => {
      requests.push(request);
      done(null, { containerResponses: [{ deviceIDs: ["b"] }] });
    },
    preStartContainer: ({ request }: { request: unknown }, done: Done) => {
      requests.push(request);
      done(null, {});
    },
  });
  const client = await connected();
  expect(await client.getOptions(signal())).toMatchObject({ preStartRequired: true });
  const ids = ["b", "a"];
  const allocated = await client.allocate({ containerRequests: [{ devicesIds: ids }] }, signal());
  expect(allocated).toMatchObject({
    containerResponses: [{ envs: { A: "1" }, cdiDevices: [{ name: "vendor.com/gpu=1" }] }],
  });
  const wanted = { availableDeviceIDs: ["a", "b"], mustIncludeDeviceIDs: [], allocationSize: 1 };
  const preferred = { containerRequests: [wanted] };
  expect(await client.getPreferredAllocation(preferred, signal())).toMatchObject({
    containerResponses: [{ deviceIDs: ["b"] }],
  });
  await client.preStartContainer({ devicesIds: ids }, signal());
  expect(requests).toEqual([
    { containerRequests: [{ devicesIds: ids }] },
    preferred,
    { devicesIds: ids },
  ]);
});

test("a list of devices is handed over whenever the plugin sends one, until that ends", async () => {
  const streams: Stream[] = [];
  await servePlugin({ listAndWatch: (stream: Stream) => void streams.push(stream) });
  const client = await connected();
  const lists: (readonly Device[])[] = [];
  const watched = client.listAndWatch((devices) => lists.push(devices), signal());
  const failed = watched.catch((error: unknown) => error);
  await expect.poll(() => streams.length, { timeout: 30_000 }).toBe(1);
  streams[0]?.write({
    devices: [{ ID: "a", health: "Healthy", topology: { nodes: [{ ID: 1n }] } }],
  });
  await expect.poll(() => lists.length, { timeout: 30_000 }).toBe(1);
  streams[0]?.write({ devices: [{ ID: "a", health: "Unhealthy", topology: undefined }] });
  await expect.poll(() => lists.length, { timeout: 30_000 }).toBe(2);
  expect(lists).toMatchObject([
    [{ ID: "a", health: "Healthy", topology: { nodes: [{ ID: 1n }] } }],
    [{ ID: "a", health: "Unhealthy", topology: undefined }],
  ]);
  streams[0]?.end();
  expect(await failed).toMatchObject({ name: "RuntimeError", code: "Unavailable" });
});

test("a plugin that reports without end is read in pauses, and its last word counts", async () => {
  const count = 20_000;
  await servePlugin({
    listAndWatch: (stream: Stream) => {
      for (let i = 1; i <= count; i++) {
        stream.write({ devices: [{ ID: String(i), health: "", topology: undefined }] });
      }
    },
  });
  const client = await connected();
  const abort = new AbortController();
  let calls = 0;
  await client.listAndWatch((devices) => {
    calls++;
    if (devices[0]?.ID === String(count)) abort.abort();
  }, abort.signal);
  expect(calls).toBeLessThan(count / 20);
});

test("a watch that is no longer needed ends in the plugin too", async () => {
  let isCancelled = false;
  const abort = new AbortController();
  await servePlugin({
    listAndWatch: (stream: Stream) => {
      stream.on("cancelled", () => {
        isCancelled = true;
      });
      stream.write({ devices: [] });
    },
  });
  const client = await connected();
  await client.listAndWatch(() => abort.abort(), abort.signal);
  await expect.poll(() => isCancelled, { timeout: 30_000 }).toBe(true);
});

test("what the receiver of a list throws ends the watch alone", async () => {
  await servePlugin({ listAndWatch: (stream: Stream) => void stream.write({ devices: [] }) });
  const client = await connected();
  const watched = client.listAndWatch(() => {
    throw new Error("a defect");
  }, signal());
  await expect(watched).rejects.toMatchObject({ code: "Internal" });
});

test("failures have the text that a client of Go prints", async () => {
  const server = await servePlugin({
    allocate: (_: unknown, done: Done) => done({ code: status.UNKNOWN, details: "no luck" }),
    preStartContainer: () => server.forceShutdown(),
  });
  const client = await connected();
  const allocate = (): Promise<unknown> => client.allocate({}, signal());
  await expect(allocate()).rejects.toMatchObject({ code: "Unknown", message: "no luck" });
  await expect(client.preStartContainer({}, signal())).rejects.toMatchObject({
    code: "Unavailable",
    message: "error reading from server: EOF",
  });
  rmSync(socketPath, { force: true });
  await expect(allocate()).rejects.toMatchObject({
    code: "Unavailable",
    message: `connection error: desc = "transport: Error while dialing: dial unix ${socketPath}: connect: no such file or directory"`,
  });
});

test("a plugin may serve its socket after it registered", async () => {
  const connecting = connected();
  await servePlugin({
    getDevicePluginOptions: (_: unknown, done: Done) => done(null, {}),
  });
  expect(await (await connecting).getOptions(signal())).toMatchObject({ preStartRequired: false });
});

test("a plugin that is not there, or only accepts connections, is given up", async () => {
  const text = "failed to dial device plugin: context deadline exceeded";
  const hurried = { timeoutMs: 300 };
  await expect(connectDevicePlugin(socketPath, signal(), hurried)).rejects.toThrow(text);
  const silent = createServer().listen(socketPath);
  onTestFinished(() => void silent.close());
  await expect(connectDevicePlugin(socketPath, signal(), hurried)).rejects.toThrow(text);
});

function register(path: string, request: RegisterRequest): Promise<ServiceError | null> {
  const Client = makeGenericClientConstructor(RegistrationService, "Registration");
  const client = new Client(`unix://${path}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const send = client["register"]?.bind(client) as (
    request: RegisterRequest,
    done: (error: ServiceError | null) => void,
  ) => void;
  return new Promise((resolve) => {
    send(request, resolve);
  });
}

test("a plugin registers at the agent's socket, before which the sockets of others go", async () => {
  const plugins = join(folder, "device-plugins");
  mkdirSync(plugins);
  mkdirSync(join(plugins, "folder"));
  writeFileSync(join(plugins, "kubelet_internal_checkpoint"), "{}");
  const other = createServer().listen(join(plugins, "other.sock"));
  onTestFinished(() => void other.close());
  const path = join(plugins, "kubelet.sock");
  const seen: RegisterRequest[] = [];
  const server = await devicePlugins.serve(path, {
    register: async (request) => {
      seen.push(request);
      if (request.version !== "v1beta1") throw new Error(`no version ${request.version}`);
    },
  });
  expect(readdirSync(plugins).toSorted()).toEqual([
    "folder",
    "kubelet.sock",
    "kubelet_internal_checkpoint",
  ]);
  const request = {
    version: "v1beta1",
    endpoint: "plugin.sock",
    resourceName: "vendor.com/gpu",
    options: { preStartRequired: true, getPreferredAllocationAvailable: false },
  };
  expect(await register(path, request)).toBeNull();
  const refused = await register(path, { ...request, version: "v2" });
  expect(refused).toMatchObject({ code: status.UNKNOWN, details: "no version v2" });
  expect(seen).toEqual([request, { ...request, version: "v2" }]);
  await server.close();
  expect(readdirSync(plugins)).not.toContain("kubelet.sock");
});

test("the folder of device plugins is made as the kubelet makes it", async () => {
  const path = join(folder, "a", "device-plugins", "kubelet.sock");
  const server = await devicePlugins.serve(path, { register: async () => undefined });
  expect(statSync(join(folder, "a", "device-plugins")).mode & 0o777).toBe(0o750);
  await server.close();
});
