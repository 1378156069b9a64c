import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDraPlugins } from "../../src/drivers/dra/dra-plugins.ts";
import { pluginSockets } from "../../src/drivers/plugins/plugin-sockets.ts";
import type { DeviceHealth } from "../../src/model/generated/dra-health.ts";
import type { DraPluginClient, DraServiceName } from "../../src/ports/dra-plugins.ts";
import { ClaimServer } from "./support/claim-server.ts";
import { DraDriver } from "./support/dra-driver.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const timeout = 60_000;

/** A driver with a cluster that has only claims; their folder. */
async function startDriver(): Promise<{ driver: DraDriver; api: ClaimServer; folder: string }> {
  const folder = makeTestFolder("dra");
  const api = await ClaimServer.start();
  const driver = await DraDriver.start({
    kubeletRoot: folder,
    kubeconfig: api.writeKubeconfig(folder),
    nodeName: "node-1",
    cdiFolder: join(folder, "cdi"),
  });
  onTestFinished(async () => {
    await driver[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
    await removeFolder(folder);
  });
  return { driver, api, folder };
}

function connect(
  driver: DraDriver,
  service: DraServiceName,
  onConnected: (isConnected: boolean) => void = () => undefined,
): DraPluginClient {
  const client = createDraPlugins().connect(driver.endpoint, service, onConnected);
  onTestFinished(() => client.close());
  return client;
}

test.each(["v1.DRAPlugin", "v1beta1.DRAPlugin"] as const)(
  "Kubernetes' test driver prepares and unprepares claims with %s",
  async (service) => {
    const { driver, api } = await startDriver();
    const shareId = "12345678-1234-1234-1234-123456789abc";
    const claim = { namespace: "ns", name: "claim", uid: "claim-uid" };
    api.addClaim({ ...claim, driver: driver.name, requests: ["first", "second"], shareId });
    const client = connect(driver, service);
    const device = (request: string, index: number): object => ({
      requestNames: [request],
      poolName: "node-1",
      deviceName: `device-0${index}`,
      cdiDeviceIds: [`${driver.name}/test=claim-claim-uid-${request}`],
      ...(service === "v1.DRAPlugin" && { shareId }),
    });
    // Safe to repeat.
    for (let round = 0; round < 2; round++) {
      const prepared = await client.nodePrepareResources({ claims: [claim] }, signal());
      expect(prepared.claims).toEqual({
        "claim-uid": { error: "", devices: [device("first", 0), device("second", 1)] },
      });
    }
    const missing = { namespace: "ns", name: "missing", uid: "other-uid" };
    const failed = client.nodePrepareResources({ claims: [claim, missing] }, signal());
    await expect(failed).rejects.toMatchObject({
      code: "Unknown",
      message: expect.stringContaining("retrieve claim ns/missing"),
    });
    expect(driver.specs()).toHaveLength(2);
    const unprepared = await client.nodeUnprepareResources({ claims: [claim] }, signal());
    expect(unprepared.claims).toEqual({ "claim-uid": { error: "" } });
    expect(driver.specs()).toEqual([]);
  },
);

test("it registers with the names of its services, and reports the health of its devices", async () => {
  const { driver, folder } = await startDriver();
  const socket = join(folder, "plugins_registry", `${driver.name}-reg.sock`);
  const plugin = await pluginSockets.connect(socket, timeout, signal());
  onTestFinished(() => plugin.close());
  const info = await plugin.getInfo(timeout, signal());
  expect(info).toMatchObject({ type: "DRAPlugin", name: driver.name, endpoint: driver.endpoint });
  expect(info.supportedVersions).toContain("v1.DRAPlugin");
  expect(info.supportedVersions).toContain("v1beta1.DRAPlugin");
  await plugin.notifyRegistrationStatus({ pluginRegistered: true, error: "" }, timeout, signal());
  const client = connect(driver, "v1.DRAPlugin");
  const reports: (readonly DeviceHealth[])[] = [];
  const abort = new AbortController();
  const watched = client.watchHealth((devices) => reports.push(devices), abort.signal);
  await expect.poll(() => reports.length, { timeout }).toBeGreaterThan(1);
  abort.abort();
  await watched;
});

test("that the driver dies and comes back is noticed", async () => {
  const { driver } = await startDriver();
  const changes: boolean[] = [];
  const client = connect(driver, "v1.DRAPlugin", (isConnected) => changes.push(isConnected));
  await expect.poll(() => changes, { timeout }).toEqual([true]);
  const watched = client.watchHealth(() => undefined, signal());
  const failed = watched.catch((error: unknown) => error);
  await driver.kill();
  await expect.poll(() => changes, { timeout }).toEqual([true, false]);
  expect(await failed).toMatchObject({ code: "Unavailable" });
  await expect(client.nodePrepareResources({ claims: [] }, signal())).rejects.toMatchObject({
    code: "Unavailable",
    message: expect.stringContaining("connect: connection refused"),
  });
  await driver.start();
  await expect.poll(() => changes, { timeout }).toEqual([true, false, true]);
  expect(await client.nodePrepareResources({ claims: [] }, signal())).toEqual({ claims: {} });
});
