import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { devicePlugins } from "../../src/drivers/device-plugins/device-plugins.ts";
import type { Device, RegisterRequest } from "../../src/model/generated/device-plugin.ts";
import type { DevicePluginClient } from "../../src/ports/device-plugins.ts";
import type { SocketServer } from "../../src/ports/socket-server.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { DevicePlugin } from "./support/device-plugin.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const timeout = 60_000;

let folder: string;
let server: SocketServer;
let registered: RegisterRequest[];
/** What registrations are answered with. */
let refusal: string | undefined;

async function serve(): Promise<void> {
  server = await devicePlugins.serve(join(folder, "kubelet.sock"), {
    register: async (request) => {
      if (refusal !== undefined) throw new Error(refusal);
      registered.push(request);
    },
  });
}

beforeEach(async () => {
  folder = makeTestFolder("devices");
  registered = [];
  refusal = undefined;
  await serve();
});

afterEach(async () => {
  await server.close();
  await removeFolder(folder);
});

async function connect(endpoint: string | undefined): Promise<DevicePluginClient> {
  const client = await devicePlugins.connect(join(folder, endpoint ?? ""), signal());
  onTestFinished(() => client.close());
  return client;
}

/** The lists of devices as they come, and how the watch ended. */
function watch(client: DevicePluginClient): {
  lists: (readonly Device[])[];
  ended: Promise<unknown>;
} {
  const lists: (readonly Device[])[] = [];
  const watched = client.listAndWatch((devices) => lists.push(devices), signal());
  return {
    lists,
    ended: watched.then(
      () => undefined,
      (error: unknown) => error,
    ),
  };
}

test("a plugin registers, lists, allocates, loses health and devices, and dies", async () => {
  await using plugin = await DevicePlugin.start({
    folder,
    devices: ["a@0", "b@1", "c"],
    flags: ["--pre-start", "--preferred"],
  });
  expect(registered).toMatchObject([
    { version: "v1beta1", resourceName: "example.com/device", options: { preStartRequired: true } },
  ]);
  const client = await connect(registered[0]?.endpoint);
  expect(await client.getOptions(signal())).toEqual({
    preStartRequired: true,
    getPreferredAllocationAvailable: true,
  });
  const { lists, ended } = watch(client);
  await expect.poll(() => lists, { timeout }).toHaveLength(1);
  expect(lists[0]).toMatchObject([
    { ID: "a", health: "Healthy", topology: { nodes: [{ ID: 0n }] } },
    { ID: "b", health: "Healthy", topology: { nodes: [{ ID: 1n }] } },
    { ID: "c", health: "Healthy", topology: undefined },
  ]);
  const available = { availableDeviceIDs: ["a", "b", "c"], mustIncludeDeviceIDs: ["a"] };
  const preferred = await client.getPreferredAllocation(
    { containerRequests: [{ ...available, allocationSize: 2 }] },
    signal(),
  );
  expect(preferred.containerResponses).toEqual([{ deviceIDs: ["a", "c"] }]);
  const allocated = await client.allocate(
    { containerRequests: [{ devicesIds: ["c", "a"] }] },
    signal(),
  );
  expect(allocated.containerResponses).toMatchObject([
    {
      envs: { DEVICES: "a,c" },
      devices: [{ containerPath: "/dev/test-device", hostPath: "/dev/null", permissions: "rw" }],
      annotations: { "example.com/devices": "a,c" },
    },
  ]);
  await expect.poll(() => plugin.allocations, { timeout }).toEqual([["c", "a"]]);
  await client.preStartContainer({ devicesIds: ["a"] }, signal());
  plugin.setHealth("b", "Unhealthy");
  await expect.poll(() => lists, { timeout }).toHaveLength(2);
  expect(lists[1]?.map(({ health }) => health)).toEqual(["Healthy", "Unhealthy", "Healthy"]);
  plugin.removeDevice("b");
  await expect.poll(() => lists, { timeout }).toHaveLength(3);
  expect(lists[2]?.map(({ ID }) => ID)).toEqual(["a", "c"]);
  await plugin.kill();
  expect(await ended).toMatchObject({ code: "Unavailable" });
  await expect(client.allocate({}, signal())).rejects.toMatchObject({
    code: "Unavailable",
    message: expect.stringContaining("connect: connection refused"),
  });
});

test("an error of a plugin is the agent's, and one that hangs is given up when asked", async () => {
  await using plugin = await DevicePlugin.start({ folder });
  const client = await connect(registered[0]?.endpoint);
  const allocate = (asked: AbortSignal): Promise<unknown> =>
    client.allocate({ containerRequests: [{ devicesIds: ["a"] }] }, asked);
  plugin.failAllocate("out of order");
  await expect
    .poll(() => allocate(signal()).catch((error: unknown) => error), { timeout })
    .toMatchObject({ code: "Unknown", message: "out of order" });
  plugin.failAllocate(undefined);
  plugin.hang();
  const abort = new AbortController();
  const before = plugin.allocations.length;
  const hung = allocate(abort.signal);
  await expect.poll(() => plugin.allocations.length, { timeout }).toBeGreaterThan(before);
  abort.abort(new Error("no longer needed"));
  await expect(hung).rejects.toMatchObject({ code: "Cancelled" });
});

test("a plugin that is refused receives the reason", async () => {
  refusal = 'the ResourceName "cpu" is invalid';
  await expect(DevicePlugin.start({ folder, resource: "cpu" })).rejects.toThrow(
    'rpc error: code = Unknown desc = the ResourceName "cpu" is invalid',
  );
});

/** Kubernetes' sample plugin, which knows one folder only: it sees ours there. */
async function startSamplePlugin(): Promise<void> {
  const script =
    'mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /var/lib && mkdir -p /var/lib/kubelet/device-plugins && mount --bind "$1" /var/lib/kubelet/device-plugins && exec "$2"';
  const inside = ["sh", "-c", script, "sh", folder, clusterProgram("sample-device-plugin")];
  const flags = ["--pdeathsig", "KILL", "--", "unshare", "--mount", "--propagation", "private"];
  const child = spawn("setpriv", [...flags, ...inside], { stdio: "ignore" });
  onTestFinished(async () => {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  });
}

test("Kubernetes' sample plugin registers, and again with an agent that was restarted", async () => {
  await startSamplePlugin();
  await expect.poll(() => registered, { timeout }).toHaveLength(1);
  expect(registered[0]?.resourceName).toBe("example.com/resource");
  const first = await connect(registered[0]?.endpoint);
  const { lists, ended } = watch(first);
  await expect.poll(() => lists, { timeout }).toHaveLength(1);
  expect(lists[0]?.map(({ ID, health }) => [ID, health])).toEqual([
    ["Dev-1", "Healthy"],
    ["Dev-2", "Healthy"],
  ]);
  const asked = { containerRequests: [{ devicesIds: ["Dev-1"] }] };
  expect(await first.allocate(asked, signal())).toMatchObject({
    containerResponses: [{ mounts: [{ containerPath: "/tmp/Dev-1", hostPath: "/tmp/Dev-1" }] }],
  });
  await server.close();
  await serve();
  // The sample waits for ten seconds before it serves and registers again.
  await expect.poll(() => registered, { timeout }).toHaveLength(2);
  expect(await ended).toMatchObject({ code: "Unavailable" });
  expect(readdirSync(folder)).toContain(registered[1]?.endpoint);
  const second = await connect(registered[1]?.endpoint);
  expect(await second.allocate(asked, signal())).toMatchObject({ containerResponses: [{}] });
}, 120_000);
