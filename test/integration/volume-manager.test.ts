import { execFileSync } from "node:child_process";
import { lstat, mkdir, open, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podUid } from "../../src/model/ids.ts";
import { podWith, VolumeWorld } from "./support/volume-world.ts";

const uid1 = podUid("uid-1");

let world: VolumeWorld;

beforeEach(async () => {
  world = await VolumeWorld.create();
});

afterEach(() => world[Symbol.asyncDispose]());

const volumePath = (plugin: string, name: string) =>
  join(world.root, "pods/uid-1/volumes", `kubernetes.io~${plugin}`, name);

const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

test("every type of volume is set up where a kubelet has it, and nothing is left of it", async () => {
  world.configMaps.set("settings", { data: { color: "red" } });
  world.secrets.set("key", { data: { token: Buffer.from("s3cret").toString("base64") } });
  const pod = podWith([
    { name: "disk", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    { name: "config", configMap: { name: "settings", defaultMode: 0o640 } },
    { name: "secret", secret: { secretName: "key", defaultMode: 0o400 } },
    {
      name: "self",
      downwardAPI: {
        defaultMode: 0o644,
        items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }],
      },
    },
    {
      name: "all",
      projected: {
        defaultMode: 0o644,
        sources: [{ configMap: { name: "settings" } }, { secret: { name: "key" } }],
      },
    },
    { name: "host", hostPath: { path: join(world.folder, "made"), type: "DirectoryOrCreate" } },
  ]);
  const manager = world.manager();
  expect(await world.mount(pod)).toEqual({ ok: true, value: undefined });

  expect(await modeOf(volumePath("empty-dir", "disk"))).toBe("777");
  expect(await modeOf(volumePath("configmap", "config/color"))).toBe("640");
  expect(await modeOf(volumePath("secret", "secret/token"))).toBe("400");
  expect(await readFile(volumePath("secret", "secret/token"), "utf8")).toBe("s3cret");
  expect(await readFile(volumePath("downward-api", "self/labels"), "utf8")).toBe('app="web"');
  expect((await readdir(volumePath("projected", "all"))).toSorted()).toContain("color");
  expect(await modeOf(join(world.folder, "made"))).toBe("755");
  expect(
    (await world.mounts()).map((path) => path.slice(path.lastIndexOf("/") + 1)).toSorted(),
  ).toEqual(["all", "memory", "secret", "self"]);
  const size = execFileSync("stat", ["-f", "-c", "%b %S", volumePath("empty-dir", "memory")]);
  const [blocks = 0, blockBytes = 0] = size.toString().trim().split(" ").map(Number);
  expect(blocks * blockBytes).toBe(1024 * 1024);
  const marks = await readdir(join(world.root, "pods/uid-1/plugins/kubernetes.io~empty-dir"));
  expect(marks.toSorted()).toEqual([
    "disk",
    "memory",
    "wrapped_all",
    "wrapped_config",
    "wrapped_secret",
    "wrapped_self",
  ]);
  const volumes = manager.mountedVolumes(uid1);
  expect([...volumes.keys()].toSorted()).toEqual(pod.spec.volumes?.map((v) => v.name).toSorted());
  expect(volumes.get("config")).toMatchObject({ readOnly: true, managed: true });
  expect(volumes.get("host")).toMatchObject({ path: join(world.folder, "made"), managed: false });

  await world.unmount(uid1);
  expect(await world.mounts()).toEqual([]);
  expect(await readdir(join(world.root, "pods/uid-1/plugins"))).toEqual([]);
  expect(await readdir(join(world.root, "pods/uid-1"))).toEqual(["plugins"]);
  expect(manager.mountedVolumes(uid1).size).toBe(0);
});

test("a pod waits for a config map by name and goes on when it is there", async () => {
  const pod = podWith([
    { name: "config", configMap: { name: "settings", defaultMode: 0o644 } },
    { name: "disk", emptyDir: {} },
  ]);
  const mounting = world.mount(pod);
  const problem = 'MountVolume.SetUp failed for volume "config" : configmap "settings" not found';
  await expect.poll(() => world.events).toContain(problem);
  world.configMaps.set("settings", { data: { color: "red" } });
  expect((await mounting).ok).toBe(true);
  expect(await readFile(volumePath("configmap", "config/color"), "utf8")).toBe("red");
});

test("a changed config map shows in one step; a removed one leaves what is shown", async () => {
  world.configMaps.set("settings", { data: { color: "red", old: "1" } });
  const pod = podWith([{ name: "config", configMap: { name: "settings", defaultMode: 0o644 } }]);
  await world.mount(pod);
  world.configMaps.set("settings", { data: { color: "blue", new: "1" } });
  expect((await world.mount(pod)).ok).toBe(true);
  const color = () => readFile(volumePath("configmap", "config/color"), "utf8");
  await expect.poll(color).toBe("blue");
  const names = async () =>
    (await readdir(volumePath("configmap", "config"))).filter((name) => !name.startsWith(".."));
  // What was left out is unlinked once its content is no longer shown.
  await expect.poll(names).toEqual(["color", "new"]);

  world.configMaps.delete("settings");
  const problem = 'MountVolume.SetUp failed for volume "config" : configmap "settings" not found';
  expect((await world.mount(pod)).ok).toBe(true);
  await expect.poll(() => world.events).toEqual([problem]);
  expect(await readFile(volumePath("configmap", "config/color"), "utf8")).toBe("blue");
});

test("after a restart wanted volumes stay and unwanted ones are removed", async () => {
  world.configMaps.set("settings", { data: { color: "red" } });
  const kept = [
    { name: "disk", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory" } },
    { name: "config", configMap: { name: "settings", defaultMode: 0o644 } },
  ];
  const gone = { name: "gone", emptyDir: { medium: "Memory" } };
  await world.mount(podWith([...kept, gone]));
  await writeFile(join(volumePath("empty-dir", "disk"), "file"), "kept");
  await writeFile(join(volumePath("empty-dir", "memory"), "file"), "kept");
  const before = await stat(join(volumePath("configmap", "config"), "color"));

  world.manager();
  expect((await world.mount(podWith(kept))).ok).toBe(true);
  expect(await readFile(join(volumePath("empty-dir", "disk"), "file"), "utf8")).toBe("kept");
  expect(await readFile(join(volumePath("empty-dir", "memory"), "file"), "utf8")).toBe("kept");
  expect((await stat(join(volumePath("configmap", "config"), "color"))).ino).toBe(before.ino);
  await expect.poll(() => world.mounts()).toEqual([volumePath("empty-dir", "memory")]);
  const folders = () => readdir(join(world.root, "pods/uid-1/volumes/kubernetes.io~empty-dir"));
  await expect.poll(folders).toEqual(["disk", "memory"]);
});

test("a mount inside a volume is unmounted and nothing behind it is deleted", async () => {
  const pod = podWith([{ name: "disk", emptyDir: {} }]);
  await world.mount(pod);
  const inside = join(volumePath("empty-dir", "disk"), "a/b");
  const behind = join(world.folder, "behind");
  await mkdir(inside, { recursive: true });
  await mkdir(behind);
  await writeFile(join(behind, "precious"), "untouched");
  execFileSync("mount", ["--bind", behind, inside]);
  execFileSync("mount", ["--bind", behind, inside]);
  world.manager();
  await world.unmount(uid1);
  expect(await world.mounts()).toEqual([]);
  expect(await readFile(join(behind, "precious"), "utf8")).toBe("untouched");
  expect(await readdir(join(world.root, "pods/uid-1"))).toEqual(["plugins"]);
});

test("a memory volume in use is detached, so that the pod can go", async () => {
  const pod = podWith([{ name: "memory", emptyDir: { medium: "Memory" } }]);
  await world.mount(pod);
  const busy = await open(join(volumePath("empty-dir", "memory"), "file"), "w");
  await world.unmount(uid1);
  await busy.close();
  expect(await world.mounts()).toEqual([]);
});

test("the group of a pod owns its volumes", async () => {
  world.configMaps.set("settings", { data: { color: "red" } });
  const pod = podWith(
    [
      { name: "disk", emptyDir: {} },
      { name: "config", configMap: { name: "settings", defaultMode: 0o400 } },
    ],
    { securityContext: { fsGroup: 4321, fsGroupChangePolicy: "OnRootMismatch" } },
  );
  await world.mount(pod);
  expect(await modeOf(volumePath("empty-dir", "disk"))).toBe("2777");
  expect((await stat(volumePath("empty-dir", "disk"))).gid).toBe(4321);
  expect(await modeOf(volumePath("configmap", "config/color"))).toBe("440");
  expect((await stat(volumePath("configmap", "config/color"))).gid).toBe(4321);
  world.configMaps.set("settings", { data: { color: "blue" } });
  await world.mount(pod);
  const color = () => readFile(volumePath("configmap", "config/color"), "utf8");
  await expect.poll(color).toBe("blue");
  expect(await modeOf(volumePath("configmap", "config/color"))).toBe("440");
  expect((await stat(volumePath("configmap", "config/color"))).gid).toBe(4321);
  expect((await lstat(volumePath("configmap", "config/color"))).gid).toBe(4321);
});

test("an environment file of a volume is read, and none outside it", async () => {
  const pod = podWith([{ name: "disk", emptyDir: {} }]);
  await world.mount(pod);
  const disk = volumePath("empty-dir", "disk");
  await writeFile(join(disk, "file.env"), "COLOR='red'\n");
  await symlink("/etc/hostname", join(disk, "out.env"));
  const fileKeyRef = (path: string) => ({ volumeName: "disk", path, key: "COLOR" });
  const env = ["file.env", "out.env", "none.env"].map((path, index) => ({
    name: `V${index}`,
    valueFrom: { fileKeyRef: fileKeyRef(path) },
  }));
  const read = await world.containerVolumes().envFiles(pod, { name: "main", env });
  expect(read("disk", "file.env")).toEqual({ path: `${disk}/file.env`, text: "COLOR='red'\n" });
  expect(read("disk", "out.env")?.text).toBeUndefined();
  expect(read("disk", "none.env")?.text).toBeUndefined();
  expect(read("other", "file.env")).toBeUndefined();
  expect(await readdir(disk)).toEqual(["file.env", "out.env"]);
});

test("a sub path is bound by what was opened, for files and folders, and cleaned up", async () => {
  world.configMaps.set("settings", { data: { color: "red" } });
  const pod = podWith([
    { name: "disk", emptyDir: {} },
    { name: "config", configMap: { name: "settings", defaultMode: 0o644 } },
  ]);
  const manager = world.manager();
  await world.mount(pod);
  const bind = (name: string, path: string, mountIndex: number) => {
    const volume = manager.mountedVolumes(uid1).get(name)?.path ?? "";
    const subPath = { volumePath: volume, path, mountIndex };
    return world.containerVolumes().bindSubPath(pod, "main", { name, subPath });
  };
  const targets = join(world.root, "pods/uid-1/volume-subpaths");
  expect(await bind("disk", "logs/today", 0)).toEqual({
    ok: true,
    value: `${targets}/disk/main/0`,
  });
  expect(await bind("config", "color", 1)).toEqual({ ok: true, value: `${targets}/config/main/1` });
  await writeFile(join(targets, "disk/main/0/file"), "through");
  const disk = volumePath("empty-dir", "disk");
  expect(await readFile(join(disk, "logs/today/file"), "utf8")).toBe("through");
  expect(await readFile(join(targets, "config/main/1"), "utf8")).toBe("red");

  const bound = await world.mounts();
  await bind("disk", "logs/today", 0);
  expect(await world.mounts()).toEqual(bound);
  await bind("disk", "logs/tomorrow", 0);
  expect(await readdir(join(targets, "disk/main/0"))).toEqual([]);
  expect((await world.mounts()).length).toBe(bound.length);

  await symlink("/etc", join(disk, "out"));
  expect(await bind("disk", "out/ssl", 2)).toEqual({
    ok: false,
    error: 'failed to prepare subPath for volumeMount "disk" of container "main"',
  });
  await world.unmount(uid1);
  expect(await world.mounts()).toEqual([]);
  expect(await readdir(join(world.root, "pods/uid-1"))).toEqual(["plugins"]);
});

test.each([
  ["Directory", "file", "is not a directory"],
  ["File", "folder", "is not a file"],
  ["Socket", "file", "is not a socket file"],
  ["CharDevice", "file", "is not a character device"],
  ["BlockDevice", "missing", "is not a block device"],
  ["Directory", "missing", "is not a directory"],
])("a host path of type %s is refused for a %s", async (type, name, problem) => {
  await writeFile(join(world.folder, "file"), "");
  await mkdir(join(world.folder, "folder"));
  const path = join(world.folder, name);
  const pod = podWith([{ name: "host", hostPath: { path, type } }]);
  void world.mount(pod);
  const message = `hostPath type check failed: ${path} ${problem}`;
  await expect
    .poll(() => world.events)
    .toEqual([`MountVolume.SetUp failed for volume "host" : ${message}`]);
});

test("a host path is taken as it is, by type or without one", async () => {
  const pod = podWith([
    { name: "any", hostPath: { path: "/no/such/path" } },
    { name: "null", hostPath: { path: "/dev/null", type: "CharDevice" } },
    { name: "etc", hostPath: { path: "/etc", type: "Directory" } },
    { name: "made", hostPath: { path: join(world.folder, "new"), type: "FileOrCreate" } },
  ]);
  expect(await world.mount(pod)).toEqual({ ok: true, value: undefined });
  expect(await modeOf(join(world.folder, "new"))).toBe("644");
});

test("volumes of huge pages have the size that the pod requests", async () => {
  const pod = podWith([{ name: "huge", emptyDir: { medium: "HugePages-2Mi" } }]);
  void world.mount(pod);
  await expect
    .poll(() => world.events)
    .toContain(
      'MountVolume.SetUp failed for volume "huge" : medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages',
    );
  const [container] = pod.spec.containers;
  const requests = { "hugepages-2Mi": "4Mi" };
  const containers = container === undefined ? [] : [{ ...container, resources: { requests } }];
  const asking = { ...pod, spec: { ...pod.spec, containers } };
  expect(await world.mount(asking)).toEqual({ ok: true, value: undefined });
  expect(await world.mounts()).toEqual([volumePath("empty-dir", "huge")]);
});

test("what this node cannot do is refused by its field", async () => {
  const pod = podWith([
    { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
  ]);
  void world.mount(pod);
  await expect
    .poll(() => world.events)
    .toContain(
      'MountVolume.SetUp failed for volume "token" : projected.sources[0].serviceAccountToken: needs a cluster, and this node has none',
    );
});

test("volumes and what is done to them are counted by plugin", async () => {
  const pod = podWith([
    { name: "disk", emptyDir: {} },
    { name: "config", configMap: { name: "absent" } },
  ]);
  const manager = world.manager();
  const counts = () =>
    Object.values(manager.countByPlugin()).map((byPlugin) => Object.fromEntries(byPlugin));
  void world.mount(pod);
  await expect.poll(() => world.events.length).toBe(2);
  expect(counts()).toEqual([
    { "kubernetes.io/empty-dir": 1, "kubernetes.io/configmap": 1 },
    { "kubernetes.io/empty-dir": 1 },
  ]);
  await world.unmount(uid1);
  expect(counts()).toEqual([{}, {}]);
  const lines = world.metrics.text(() => true).split("\n");
  expect(
    lines.filter((line) => line.startsWith("storage_operation_duration_seconds_count")),
  ).toEqual([
    'storage_operation_duration_seconds_count{migrated="false",operation_name="verify_controller_attached_volume",status="success",volume_plugin="kubernetes.io/empty-dir"} 1',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="verify_controller_attached_volume",status="success",volume_plugin="kubernetes.io/configmap"} 1',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="fail-unknown",volume_plugin="kubernetes.io/configmap"} 2',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/empty-dir"} 1',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_unmount",status="success",volume_plugin="kubernetes.io/empty-dir"} 1',
  ]);
});
