import { expect, test } from "vitest";
import { buildPod } from "../../../../test/kit/pods.ts";
import { diskVolumeDeps, secretReader } from "../../../../test/vectors/disk-volumes.ts";
import type { TreeFile } from "../../../../test/vectors/memory-tree.ts";
import {
  type StoragePluginInput,
  StoragePluginWorld,
} from "../../../../test/vectors/storage-plugin-world.ts";
import { iscsiFileText } from "../../../core/storage/iscsi/iscsi-file.ts";
import { encodeBase64 } from "../../../lib/base64.ts";
import { ok } from "../../../lib/result.ts";
import type { ISCSIPersistentVolumeSource } from "../../../model/generated/kubernetes.ts";
import type { LogFields } from "../../../ports/log.ts";
import { IscsiPlugin } from "./iscsi-plugin.ts";

const { signal } = new AbortController();
const pod = buildPod({});
const iqn = "iqn.2003-01.io.example:a";
const portal = "10.0.0.1:3260";
const folder = "/var/lib/kubelet/plugins/kubernetes.io/iscsi/iface-default";
const source: ISCSIPersistentVolumeSource = {
  targetPortal: portal,
  iqn,
  lun: 1,
  iscsiInterface: "default",
};
const shown = { match: "-o show", output: "iface.transport_name = tcp\n" };

function worldOf(input: Partial<StoragePluginInput>, iscsi = source): StoragePluginWorld {
  const persistentVolume = {
    metadata: { name: "pv" },
    spec: { iscsi, volumeMode: "Filesystem" },
  };
  return new StoragePluginWorld({ pod, persistentVolume, ...input });
}

/** A session with the target as the kernel shows it, with one LUN. */
function session(): readonly TreeFile[] {
  const session = "/sys/class/iscsi_host/host3/device/session1";
  const connection = `${session}/connection1:0/iscsi_connection/connection1:0`;
  return [
    { path: `${session}/iscsi_session/session1/targetname`, content: `${iqn}\n` },
    { path: `${connection}/address`, content: "10.0.0.1\n" },
    { path: `${connection}/port`, content: "3260\n" },
    { path: `${connection}/persistent_address`, content: "10.0.0.1\n" },
    { path: `${connection}/persistent_port`, content: "3260\n" },
    { path: "/sys/class/scsi_host/host3/scan", content: "" },
  ];
}

function recorded(lun: string): TreeFile {
  const content = iscsiFileText({
    volumeName: "pv",
    portals: [portal],
    iqn,
    lun,
    initialInterface: "default",
    interface: "default",
    initiatorName: "",
  });
  return { path: `${folder}/${portal}-${iqn}-lun-${lun}/iscsi.json`, content };
}

function pluginOf(world: StoragePluginWorld): IscsiPlugin {
  return new IscsiPlugin({ ...diskVolumeDeps(world), secrets: secretReader([]) });
}

function logouts(world: StoragePluginWorld): number {
  const { actions } = world.takeStep() as {
    readonly actions: readonly { readonly exec?: readonly string[] }[];
  };
  return actions.filter(({ exec }) => exec?.includes("--logout")).length;
}

test("of two disks of a target that go at once, the last one logs out", async () => {
  const world = worldOf({ files: [recorded("1"), recorded("2")] });
  const plugin = pluginOf(world);
  const detached = await Promise.all(
    ["1", "2"].map((lun) =>
      plugin.device.unmountDevice(`${folder}/${portal}-${iqn}-lun-${lun}`, signal),
    ),
  );
  expect(detached).toEqual([
    { ok: true, value: undefined },
    { ok: true, value: undefined },
  ]);
  expect(logouts(world)).toBe(1);
});

test("a disk does not log out while another one of its target is being attached", async () => {
  const files = [...session(), recorded("2")];
  const link = `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-1`;
  const world = worldOf({ files, commands: [shown] });
  const plugin = pluginOf(world);
  const attach = plugin.device.waitForAttach({ spec: world.spec, pod }, signal);
  const detach = plugin.device.unmountDevice(`${folder}/${portal}-${iqn}-lun-2`, signal);
  // udev takes three seconds.
  await world.clock.advance(3000);
  world.tree.add({ path: "/dev/sda", blockDevice: true });
  world.tree.add({ path: link, symlink: "/dev/sda" });
  expect(await world.clock.run(attach)).toEqual({ ok: true, value: link });
  expect(await detach).toEqual({ ok: true, value: undefined });
  expect(logouts(world)).toBe(0);
});

test("a wait for a device ends with its signal, and the target's turn with it", async () => {
  const world = worldOf({ files: session(), commands: [shown] });
  const plugin = pluginOf(world);
  const gone = new AbortController();
  const attach = plugin.device.waitForAttach({ spec: world.spec, pod }, gone.signal);
  await world.clock.advance(1000);
  gone.abort(new Error("the pod is gone"));
  await expect(attach).rejects.toThrow("the pod is gone");
  world.tree.add({ path: `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-1`, content: "" });
  const again = plugin.device.waitForAttach({ spec: world.spec, pod }, signal);
  expect(await world.clock.run(again)).toMatchObject({ ok: true });
});

test("a disk that is attached but not on record may still be in use", async () => {
  const link = `/dev/disk/by-path/ip-${portal}-iscsi-${iqn}-lun-1`;
  const files = [...session(), { path: link, content: "" }];
  const world = worldOf({ files, commands: [shown] });
  const deps = diskVolumeDeps(world);
  const full = async (): Promise<void> => {
    throw new Error("no space left on device");
  };
  const plugin = new IscsiPlugin({
    ...deps,
    files: { ...deps.files, writeFile: full },
    secrets: secretReader([]),
  });
  expect(await plugin.device.waitForAttach({ spec: world.spec, pod }, signal)).toEqual({
    ok: false,
    error: { kind: "uncertain", message: "no space left on device" },
  });
});

test("neither errors nor the log show a CHAP password", async () => {
  const failing = {
    match: "-n node.session.auth.password",
    exit: 6,
    output: "iscsiadm: db is locked",
  };
  const iscsi = { ...source, chapAuthSession: true, secretRef: { name: "chap", namespace: "ns" } };
  const world = worldOf({ commands: [shown, failing] }, iscsi);
  const lines: string[] = [];
  const write = (message: string, fields: LogFields = {}): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const secrets = secretReader([
    {
      metadata: { name: "chap", namespace: "ns" },
      data: {
        "node.session.auth.username": encodeBase64("user-1"),
        "node.session.auth.password": encodeBase64("password-1"),
      },
    },
  ]);
  const log = { debug: write, info: write, warn: write, error: write };
  const plugin = new IscsiPlugin({ ...diskVolumeDeps(world), log, secrets });
  const attached = await plugin.device.waitForAttach({ spec: world.spec, pod }, signal);
  expect(attached).toMatchObject({
    error: {
      message: expect.stringContaining(
        'failed to update node session key "node.session.auth.password" error: iscsiadm: db is locked',
      ),
    },
  });
  expect(`${JSON.stringify(attached)} ${lines.join("\n")}`).not.toMatch(/password-1|user-1/);
});

test("the devices of a disk that is mounted twice stay until it is unmounted twice", async () => {
  const mountPath = `${folder}/${portal}-${iqn}-lun-1`;
  const block = "/sys/class/iscsi_host/host3/device/session1/target3:0:0/3:0:0:1/block/sda";
  const world = worldOf({
    files: [
      ...session(),
      { path: block, dir: true },
      { path: "/sys/block/sda/device/delete", content: "" },
      recorded("1"),
    ],
    mounts: [{ device: "/dev/sda", path: mountPath }],
  });
  const deps = diskVolumeDeps(world);
  const left = { times: 2 };
  const mounts = {
    ...deps.mounts,
    isMountPoint: async () => left.times > 0,
    unmountVolume: async () => {
      left.times -= 1;
      return ok(undefined);
    },
  };
  const { device } = new IscsiPlugin({ ...deps, mounts, secrets: secretReader([]) });
  expect(await device.unmountDevice(mountPath, signal)).toMatchObject({
    error: { message: expect.stringContaining("is still mounted") },
  });
  expect(world.tree.takeWrites()).toEqual({});
  expect(await device.unmountDevice(mountPath, signal)).toEqual({ ok: true, value: undefined });
  expect(world.tree.takeWrites()).toEqual({ "/sys/block/sda/device/delete": "1" });
});

test("a volume of an earlier agent is known by where its disk is mounted", async () => {
  const mountPath = `${folder}/${portal}-${iqn}-lun-1`;
  const path = `/var/lib/kubelet/pods/${pod.metadata.uid}/volumes/kubernetes.io~iscsi/pv`;
  const mounts = [
    { device: "/dev/sda", path: mountPath },
    { device: "/dev/sda", path },
  ];
  const world = worldOf({ mounts });
  const found = { podUid: pod.metadata.uid, volumeSpecName: "pv", path };
  expect(await pluginOf(world).reconstruct(found, signal)).toMatchObject({
    ok: true,
    value: { spec: { source: "inline", volume: { name: "pv", iscsi: source } } },
  });
});

test("disks are found by their folders, attached or mounted, as file systems and as raw devices", async () => {
  const root = "/var/lib/kubelet/plugins/kubernetes.io/iscsi";
  const block = `${root}/volumeDevices/iface-default/${portal}-${iqn}-lun-4`;
  const mounted = `${folder}/${portal}-${iqn}-lun-2`;
  const world = worldOf({
    files: [
      recorded("1"),
      { path: `${folder}/${portal}-${iqn}-lun-3`, dir: true },
      { path: `${block}/iscsi.json`, content: "{" },
      { path: `${folder}/notes`, dir: true },
      { path: `${root}/volumeDevices/iface-default/${portal}-${iqn}-lun-5`, dir: true },
      { path: `${root}/other/${portal}-${iqn}-lun-6/iscsi.json`, content: "" },
    ],
    mounts: [
      { device: "/dev/sdb", path: mounted },
      { device: "/dev/sdc", path: `${folder}/unknown` },
    ],
  });
  const found = (await pluginOf(world).device.find?.()) ?? [];
  const disk = { targetPortal: portal, iqn, iscsiInterface: "default" };
  const inline = (lun: number) => {
    const name = `${portal}-${iqn}-lun-${lun}`;
    return ok({ source: "inline", volume: { name, iscsi: { ...disk, lun } } });
  };
  const problem = `iscsi detach disk: malformatted mnt path: ${folder}/unknown`;
  const known = new Map(found.map(({ path, volume }) => [path, volume]));
  expect(known).toEqual(
    new Map<string, unknown>([
      [`${folder}/${portal}-${iqn}-lun-1`, inline(1)],
      [mounted, inline(2)],
      [`${folder}/unknown`, { ok: false, error: { kind: "final", message: problem } }],
      [
        block,
        ok({
          source: "persistentVolume",
          persistentVolume: {
            metadata: { name: `${portal}-${iqn}-lun-4` },
            spec: { iscsi: { ...disk, lun: 4 }, volumeMode: "Block" },
          },
          readOnly: false,
        }),
      ],
    ]),
  );
});

test("a folder whose name leads elsewhere is not understood", async () => {
  const path = `${folder}/x-${iqn}-lun-1-lun-2`;
  const world = worldOf({ mounts: [{ device: "/dev/sdb", path }] });
  const found = (await pluginOf(world).device.find?.()) ?? [];
  expect(found).toMatchObject([{ path, volume: { ok: false } }]);
});
