import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCsiDrivers } from "../../src/drivers/csi/csi-drivers.ts";
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
} from "../../src/model/generated/csi.ts";
import { clusterProgram } from "../cluster/support/cluster-programs.ts";
import { CsiDriver } from "./support/csi-driver.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const mebibyte = 2 ** 20;
const volumeBytes = 64 * mebibyte;

let folder: string;

beforeEach(() => {
  folder = makeTestFolder("csi-test");
});

afterEach(() => removeFolder(folder));

const signal = (): AbortSignal => AbortSignal.timeout(60_000);

describe("the driver is sound according to csi-sanity", () => {
  const kinds = [
    { name: "with file systems", accessType: "mount", flags: ["--attach-limit=3"] },
    { name: "with raw devices", accessType: "block", flags: ["--volume-condition"] },
    { name: "without attaching", accessType: "mount", flags: ["--attach=false", "--topology"] },
    { name: "without staging", accessType: "mount", flags: ["--without-staging"] },
  ];
  test.each(kinds)("$name", async ({ accessType, flags }) => {
    await using driver = await CsiDriver.start({ flags });
    const options = {
      "csi.endpoint": driver.endpoint,
      "csi.mountdir": join(folder, "mount"),
      "csi.stagingdir": join(folder, "stage"),
      "csi.testvolumeaccesstype": accessType,
      "csi.testvolumesize": volumeBytes,
      "csi.testvolumeexpandsize": 2 * volumeBytes,
      "csi.testnodevolumeattachlimit": flags.includes("--attach-limit=3"),
      "ginkgo.no-color": true,
    };
    const args = Object.entries(options).map(([key, value]) => `--${key}=${value}`);
    const { status, stdout } = spawnSync(clusterProgram("csi-sanity"), args, { encoding: "utf8" });
    expect(stdout).toMatch(/SUCCESS! -- [4-9]\d Passed \| 0 Failed/);
    expect(status).toBe(0);
    expect(driver.leftovers()).toEqual([]);
  });
});

function stageRequest(volumeId: string): NodeStageVolumeRequest {
  const stagingTargetPath = join(folder, "stage", volumeId);
  mkdirSync(stagingTargetPath, { recursive: true });
  return {
    volumeId,
    stagingTargetPath,
    publishContext: { device: volumeId },
    volumeCapability: {
      mount: { fsType: "ext4", mountFlags: [], volumeMountGroup: "" },
      accessMode: { mode: Mode.SINGLE_NODE_WRITER },
    },
    secrets: { key: "of the volume" },
    volumeContext: {},
  };
}

describe("the driver does to calls what a test asks for", () => {
  test("it fails as often as asked, and all calls are on record with their secrets", async () => {
    await using driver = await CsiDriver.start();
    await driver.createVolume("disk", volumeBytes);
    const node = createCsiDrivers().connect(driver.endpoint);
    await driver.setRules([
      { method: "NodeStageVolume", code: "ResourceExhausted", message: "no", times: 2 },
    ]);
    const refused = { code: "ResourceExhausted", message: expect.stringContaining("no") };
    await expect(node.stageVolume(stageRequest("disk"), signal())).rejects.toMatchObject(refused);
    await expect(node.stageVolume(stageRequest("disk"), signal())).rejects.toMatchObject(refused);
    await node.stageVolume(stageRequest("disk"), signal());
    const calls = driver.calls("NodeStageVolume");
    expect(calls.map(({ code }) => code)).toEqual(["ResourceExhausted", "ResourceExhausted", "OK"]);
    expect(calls[0]?.request).toMatchObject({
      volumeId: "disk",
      secrets: { key: "of the volume" },
    });
  });

  test("a call hangs until its rule is removed, and then is carried out", async () => {
    await using driver = await CsiDriver.start();
    await driver.createVolume("disk", volumeBytes);
    const node = createCsiDrivers().connect(driver.endpoint);
    await driver.setRules([{ method: "NodeStageVolume", volumeId: "disk", hang: true }]);
    const staged = node.stageVolume(stageRequest("disk"), signal());
    await expect.poll(() => driver.calls("NodeStageVolume")).toHaveLength(1);
    expect(driver.calls("NodeStageVolume")[0]?.code).toBeUndefined();
    await driver.setRules([]);
    await staged;
    expect(driver.leftovers()).not.toEqual([]);
  });

  test("it dies after the work was done, comes back, and finds it done", async () => {
    await using driver = await CsiDriver.start();
    await driver.createVolume("disk", volumeBytes);
    const node = createCsiDrivers().connect(driver.endpoint);
    await driver.setRules([{ method: "NodeStageVolume", afterwards: true, die: true }]);
    await expect(node.stageVolume(stageRequest("disk"), signal())).rejects.toMatchObject({
      code: "Unavailable",
    });
    await driver.ended();
    const devices = driver.leftovers();
    expect(devices).toHaveLength(1);

    await driver.start();
    const { stagingTargetPath } = stageRequest("disk");
    await node.stageVolume(stageRequest("disk"), signal());
    expect(driver.leftovers()).toEqual(devices);
    await node.unstageVolume({ volumeId: "disk", stagingTargetPath }, signal());
    expect(driver.leftovers()).toEqual([]);
  });

  test("a device that another process has open is let go when it is closed", async () => {
    await using driver = await CsiDriver.start();
    await driver.createVolume("disk", volumeBytes);
    const node = createCsiDrivers().connect(driver.endpoint);
    await node.stageVolume(stageRequest("disk"), signal());
    const [device = ""] = driver.leftovers();
    const open = openSync(device, "r");
    const { stagingTargetPath } = stageRequest("disk");
    const unstaged = node.unstageVolume({ volumeId: "disk", stagingTargetPath }, signal());
    const mounts = () => readFileSync("/proc/self/mountinfo", "utf8");
    await expect.poll(mounts).not.toContain(stagingTargetPath);
    expect(driver.leftovers()).toEqual([device]);
    closeSync(open);
    await unstaged;
    expect(driver.leftovers()).toEqual([]);
  });

  test("answers are changed in the fields that a rule names", async () => {
    await using driver = await CsiDriver.start({ nodeId: "node-7" });
    await driver.setRules([{ method: "NodeGetInfo", answer: { maxVolumesPerNode: 5 } }]);
    const info = await createCsiDrivers().connect(driver.endpoint).getInfo(signal());
    expect(info).toMatchObject({ nodeId: "node-7", maxVolumesPerNode: 5n });
  });

  test("an inline volume is a folder with what the driver was given", async () => {
    await using driver = await CsiDriver.start();
    const targetPath = join(folder, "inline");
    const context = { "csi.storage.k8s.io/ephemeral": "true", medium: "tmpfs" };
    const { stagingTargetPath: _, ...stage } = stageRequest("csi-inline");
    const request: NodePublishVolumeRequest = {
      ...stage,
      stagingTargetPath: "",
      targetPath,
      readonly: false,
      volumeContext: context,
    };
    const node = createCsiDrivers().connect(driver.endpoint);
    await node.publishVolume(request, signal());
    const seen = readFileSync(join(targetPath, "volume-context.json"), "utf8");
    expect(JSON.parse(seen)).toEqual(context);
    await node.unpublishVolume({ volumeId: "csi-inline", targetPath }, signal());
    expect(driver.leftovers()).toEqual([]);
  });
});
