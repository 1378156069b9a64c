import { expect, test } from "vitest";
import { buildPod } from "../../../../test/kit/pods.ts";
import { diskVolumeDeps } from "../../../../test/vectors/disk-volumes.ts";
import { StoragePluginWorld } from "../../../../test/vectors/storage-plugin-world.ts";
import type { Commands } from "../../../ports/commands.ts";
import { fcPlugin } from "./fc-plugin.ts";

const { signal } = new AbortController();
const pod = buildPod({});
const mountPath = "/var/lib/kubelet/plugins/kubernetes.io/fc/5006-lun-0";

function multipathWorld(): StoragePluginWorld {
  return new StoragePluginWorld({
    pod,
    persistentVolume: {
      metadata: { name: "pv" },
      spec: { fc: { targetWWNs: ["5006"], lun: 0 }, volumeMode: "Filesystem" },
    },
    files: [
      { path: "/dev/dm-2", blockDevice: true },
      { path: "/dev/mapper/mpatha", symlink: "../dm-2" },
      { path: "/sys/block/dm-2/slaves/sda", dir: true },
      { path: "/sys/block/dm-2/slaves/sdb", dir: true },
      { path: "/sys/block/sda/device/delete", content: "" },
      { path: "/sys/block/sdb/device/delete", content: "" },
    ],
    mounts: [{ device: "/dev/mapper/mpatha", path: mountPath }],
  });
}

/** A multipath that is busy for the first calls. */
function busyMultipath(programs: Commands, busyCalls: number): Commands & { calls: number } {
  const commands = {
    calls: 0,
    run: async (...[argv, ...rest]: Parameters<Commands["run"]>) => {
      const end = await programs.run(argv, ...rest);
      if (argv[0] !== "multipath") return end;
      commands.calls += 1;
      return commands.calls > busyCalls ? end : { exitCode: 1, output: "map in use" };
    },
  };
  return commands;
}

test("a multipath that is busy after its unmount is flushed later, and only then its disks go", async () => {
  const world = multipathWorld();
  const deps = diskVolumeDeps(world);
  const commands = busyMultipath(deps.commands, 2);
  const plugin = fcPlugin({ ...deps, commands });
  const unmounted = plugin.device?.unmountDevice(mountPath, signal);
  await world.clock.advance(15_000);
  expect(world.tree.takeWrites()).toEqual({});
  expect(unmounted && (await world.clock.run(unmounted))).toEqual({ ok: true, value: undefined });
  expect(commands.calls).toBe(3);
  expect(world.takeStep()).toMatchObject({
    elapsedSeconds: 20,
    sysfsWrites: { "/sys/block/sda/device/delete": "1", "/sys/block/sdb/device/delete": "1" },
  });
});

test("the disks of a multipath that stays busy are left alone", async () => {
  const world = multipathWorld();
  const deps = diskVolumeDeps(world);
  const commands = busyMultipath(deps.commands, Number.POSITIVE_INFINITY);
  const unmounted = fcPlugin({ ...deps, commands }).device?.unmountDevice(mountPath, signal);
  expect(unmounted && (await world.clock.run(unmounted))).toEqual({
    ok: false,
    error: {
      kind: "final",
      message:
        "fc: failed to detach disk: /dev/mapper/mpatha: failed to flush multipath device /dev/dm-2: exit status 1\nmap in use",
    },
  });
  expect(world.takeStep()).toMatchObject({ elapsedSeconds: 120, sysfsWrites: {} });
});

test("a volume of an earlier agent is known by where its disk is mounted", async () => {
  const world = multipathWorld();
  const path = `/var/lib/kubelet/pods/${pod.metadata.uid}/volumes/kubernetes.io~fc/pv`;
  const mounted = await world.mounts.mount(
    { source: mountPath, target: path, fileSystem: "", options: ["bind"], withoutSystemd: true },
    signal,
  );
  expect(mounted.ok).toBe(true);
  world.tree.makeFolder(path, 0o750);
  const found = { podUid: pod.metadata.uid, volumeSpecName: "pv", path };
  expect(await fcPlugin(diskVolumeDeps(world)).reconstruct(found, signal)).toMatchObject({
    value: { spec: { volume: { name: "pv", fc: { targetWWNs: ["5006"], lun: 0 } } } },
  });
});

test("disks are found by their folders, mounted or as raw devices that pods had", async () => {
  const root = "/var/lib/kubelet/plugins/kubernetes.io/fc";
  const world = new StoragePluginWorld({
    pod,
    files: [
      { path: `${root}/5007-lun-0`, dir: true },
      { path: `${root}/volumeDevices/3600_A/${pod.metadata.uid}`, content: "" },
      { path: `${root}/volumeDevices/5008-lun-1`, dir: true },
    ],
    mounts: [
      { device: "/dev/sda", path: mountPath },
      { device: "/dev/sdb", path: `${root}/5006-lun-x` },
    ],
  });
  const found = (await fcPlugin(diskVolumeDeps(world)).device?.find?.()) ?? [];
  expect(new Map(found.map(({ path, volume }) => [path, volume]))).toMatchObject(
    new Map<string, unknown>([
      [
        mountPath,
        { value: { volume: { name: "5006-lun-0", fc: { targetWWNs: ["5006"], lun: 0 } } } },
      ],
      [`${root}/5006-lun-x`, { ok: false }],
      [
        `${root}/volumeDevices/3600_A`,
        { value: { persistentVolume: { spec: { fc: { wwids: ["3600_A"] } } } } },
      ],
    ]),
  );
  expect(found).toHaveLength(3);
});
