import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PodSpec, Volume } from "../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../src/model/pod.ts";
import { eventually } from "../cluster/support/eventually.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { isReady, waitForPod, waitUntilGone } from "./support/agent-watch.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { claimed, claimManifest, volumeManifest } from "./support/claim-manifests.ts";
import { CsiDriver } from "./support/csi-driver.ts";

const volumeBytes = 64 * 2 ** 20;

describe("CSI drivers without a cluster", () => {
  let world: AgentWorld;
  let driver: CsiDriver;

  beforeEach(async () => {
    world = await AgentWorld.start(42);
    driver = CsiDriver.define({
      kubeletRoot: kubeletRoot(),
      flags: ["--attach=false", "--volume-condition"],
    });
  });
  afterEach(async () => {
    await driver.kill();
    await world.close();
    await driver[Symbol.asyncDispose]();
  });

  const kubeletRoot = (): string => join(world.dataDir, "kubelet");

  const ready = (name: string): Promise<Pod> =>
    waitForPod(world.client, world.podName(name), isReady);

  const inside = async (name: string, script: string): Promise<string> => {
    const result = await world.berth("exec", name, "-c", "main", "--", "sh", "-c", script);
    return `${result.stdout}${result.stderr}`.trim();
  };

  /** A persistent volume of the driver, and the claim that it is for. */
  const writeVolume = (name: string, volumeMode = "Filesystem"): void => {
    const csi = { driver: driver.name, volumeHandle: name };
    const capacity = { storage: String(volumeBytes) };
    const resources = { requests: capacity };
    world.write(`volume-${name}.json`, volumeManifest(name, { csi, capacity, volumeMode }));
    const spec = { volumeName: name, volumeMode, resources };
    world.write(`claim-${name}.json`, claimManifest(name, spec));
  };

  const writeDriverObject = (): void => {
    const spec = { volumeLifecycleModes: ["Persistent", "Ephemeral"], podInfoOnMount: true };
    const object = { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver" };
    const text = JSON.stringify({ ...object, metadata: { name: driver.name }, spec });
    world.write("driver-object.json", text);
  };

  /** A pod with a file system at /data, a raw device at /dev/raw, and a folder that lives as long as it at /inline. */
  const writePod = (name: string): void => {
    const volumes: Volume[] = [
      claimed("data", "disk"),
      claimed("raw", "raw"),
      { name: "inline", csi: { driver: driver.name } },
    ];
    const main = shell("main", untilStopped, {
      volumeMounts: [
        { name: "data", mountPath: "/data" },
        { name: "inline", mountPath: "/inline" },
      ],
      volumeDevices: [{ name: "raw", devicePath: "/dev/raw" }],
    });
    world.write(`${name}.json`, podManifest(name, { containers: [main], volumes }));
  };

  const use = async (): Promise<void> => {
    expect(await inside("web", "df /data | tail -1 | cut -d' ' -f1")).toMatch(/^\/dev\/loop/);
    expect(await inside("web", "echo here > /data/file; echo raw > /dev/raw; sync")).toBe("");
    expect(await inside("web", "cat /inline/volume-context.json")).toContain(
      `"csi.storage.k8s.io/pod.name":"${world.podName("web")}"`,
    );
  };

  /** Volumes take what the driver says, and those that it calls unhealthy are reported. */
  const measure = async ({ metadata }: Pod): Promise<void> => {
    const { volumeStats = [] } =
      (await eventually(
        async () => {
          const { pods } = await world.client.readStats(AbortSignal.timeout(60_000));
          return pods.find(({ podRef }) => podRef.uid === metadata.uid);
        },
        (found) => found?.volumeStats !== undefined,
      )) ?? {};
    const statsOf = (name: string) => volumeStats.find((each) => each.name === name);
    const { capacityBytes = 0, usedBytes = 0, inodesUsed = 0, ...data } = statsOf("data") ?? {};
    expect(data).toMatchObject({
      pvcRef: { namespace: "default", name: "disk" },
      volumeHealthStats: { abnormal: false },
    });
    expect(capacityBytes).toBeGreaterThan(volumeBytes / 2);
    expect(capacityBytes).toBeLessThan(volumeBytes);
    expect(usedBytes).toBeGreaterThan(0);
    expect(inodesUsed).toBeGreaterThan(10);
    expect(statsOf("raw")).toMatchObject({
      capacityBytes: volumeBytes,
      pvcRef: { namespace: "default", name: "raw" },
      volumeHealthStats: { abnormal: true },
    });
    const { stdout } = await world.berth("describe", "pod", "web");
    expect(stdout).toMatch(/Warning +VolumeConditionAbnormal .*Volume raw: the disk fails/);
  };

  /** After its removal nothing of the pod or of the driver is left on the machine. */
  const removePod = async (pod: Pod): Promise<void> => {
    world.remove("web.json");
    await waitUntilGone(world.client, pod.metadata.uid);
    expect(await world.tracesLeft([pod.metadata.uid])).toEqual([]);
    await eventually(
      async () => driver.leftovers(),
      (left) => left.length === 0,
    );
  };

  test("pods use its volumes, wait for it with the reason, and keep them while the agent is killed", async () => {
    writeVolume("disk");
    writeVolume("raw", "Block");
    writeDriverObject();
    writePod("web");
    const missing = `driver name ${driver.name} not found in the list of registered CSI drivers`;
    await eventually(
      async () => (await world.berth("why", "web")).stdout,
      (shown) => shown.includes(missing),
    );
    await driver.start();
    const volumeCondition = { abnormal: true, message: "the disk fails" };
    await driver.setRules([
      { method: "NodeGetVolumeStats", volumeId: "raw", answer: { volumeCondition } },
    ]);
    await driver.createVolume("disk", volumeBytes);
    await driver.createVolume("raw", volumeBytes);
    const pod = await ready("web");
    await use();
    await measure(pod);
    const ids = await world.containerIds(pod.metadata.uid);

    await world.agent.stop("SIGKILL");
    await driver.kill();
    await world.up();
    await driver.start();
    await ready("web");
    expect(await world.containerIds(pod.metadata.uid)).toEqual(ids);
    expect(await inside("web", "cat /data/file; head -c 4 /dev/raw")).toBe("here\nraw");
    await removePod(pod);
    for (const method of ["NodeUnpublishVolume", "NodeUnstageVolume"]) {
      expect(driver.calls(method).length).toBeGreaterThan(0);
    }

    writePod("web");
    const next = await ready("web");
    expect(await inside("web", "cat /data/file; head -c 4 /dev/raw; ls /inline")).toBe(
      "here\nraw\nvolume-context.json",
    );
    await removePod(next);
  });

  test("it may run as a pod beside the pods that use it", async () => {
    writeVolume("disk");
    writeVolume("raw", "Block");
    writeDriverObject();
    writePod("web");
    world.write("driver.json", podManifest("driver", driverSpec()));
    await ready("driver");
    await eventually(
      () =>
        driver.createVolume("disk", volumeBytes).then(
          () => true,
          () => false,
        ),
      (done) => done,
    );
    await driver.createVolume("raw", volumeBytes);
    const pod = await ready("web");
    await use();
    await removePod(pod);
    expect(driver.calls("NodeUnstageVolume").map(({ code }) => code)).toEqual(["OK", "OK"]);
  });

  test("berth down gives its volumes back before it ends the driver, which is a pod too", async () => {
    writeVolume("disk");
    writeVolume("raw", "Block");
    writeDriverObject();
    world.write("driver.json", podManifest("driver", driverSpec()));
    await ready("driver");
    await eventually(
      () =>
        driver.createVolume("disk", volumeBytes).then(
          () => true,
          () => false,
        ),
      (done) => done,
    );
    await driver.createVolume("raw", volumeBytes);
    writePod("web");
    await ready("web");
    await use();
    const down = await world.berth("down");
    expect(down).toMatchObject({ code: 0 });
    const codes = (method: string) => driver.calls(method).map(({ code }) => code);
    expect(codes("NodeUnpublishVolume")).toEqual(["OK", "OK", "OK"]);
    expect(codes("NodeUnstageVolume")).toEqual(["OK", "OK"]);
    expect(driver.leftovers()).toEqual([]);
    expect(existsSync(world.dataDir)).toBe(false);
  });

  test("berth down does not wait for ever for a driver that hangs, names what is mounted, and can be repeated", async () => {
    writeVolume("disk");
    writeVolume("raw", "Block");
    writeDriverObject();
    await driver.start();
    await driver.createVolume("disk", volumeBytes);
    await driver.createVolume("raw", volumeBytes);
    writePod("web");
    const { metadata } = await ready("web");
    await driver.setRules([{ method: "NodeUnpublishVolume", volumeId: "disk", hang: true }]);
    const down = await world.berth("down");
    expect(down.code).not.toBe(0);
    const path = join(kubeletRoot(), "pods", metadata.uid, "volumes/kubernetes.io~csi/disk/mount");
    expect(down.stderr).toContain(`volumes are still mounted (of ${driver.name}): `);
    expect(down.stderr).toContain(path);
    expect(down.stderr).toContain("call `berth down` again");
    expect(driver.leftovers()).not.toEqual([]);
    // What did not depend on it was given back.
    expect(driver.calls("NodeUnstageVolume").map(({ request }) => request.volumeId)).toEqual([
      "raw",
    ]);

    await driver.kill();
    const again = await world.berth("down");
    expect(again.code).not.toBe(0);
    expect(again.stderr).toContain(path);

    await driver.start();
    expect(await world.berth("down")).toMatchObject({ code: 0 });
    expect(driver.leftovers()).toEqual([]);
    expect(existsSync(world.dataDir)).toBe(false);
  });

  /** With this machine's programs, and the folders in which it mounts for others. */
  function driverSpec(): Partial<PodSpec> {
    const shared = { mountPropagation: "Bidirectional" };
    const folders = new Map<string, object>([
      [kubeletRoot(), shared],
      [driver.folder, {}],
      [dirname(driver.command[0] ?? ""), {}],
      ...["/dev", "/bin", "/sbin", "/lib", "/lib64", "/usr"].map((path) => [path, {}] as const),
    ]);
    const named = [...folders].map(([path, more], index) => ({ name: `v${index}`, path, more }));
    const main = shell("main", "", {
      command: driver.command,
      securityContext: { privileged: true },
      volumeMounts: named.map(({ name, path, more }) => ({ name, mountPath: path, ...more })),
    });
    const volumes = named.map(({ name, path }) => ({ name, hostPath: { path } }));
    return { containers: [main], volumes };
  }
});
