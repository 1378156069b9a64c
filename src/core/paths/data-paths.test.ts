import { expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import {
  escapePluginName,
  pluginDevicesDirectory,
  pluginsDirectory,
  podContainerDirectory,
  podHostsFile,
  podPluginDirectory,
  podSubPathsDirectory,
  podVolumeDeviceDirectory,
  podVolumeDevicesDirectory,
  podVolumeDirectory,
  unescapePluginName,
} from "./data-paths.ts";

const uid1 = podUid("u1");

const root = "/var/lib/kubelet/";

test("a pod's data lies where a kubelet puts it", () => {
  const plugin = "kubernetes.io/empty-dir";
  expect([
    podVolumeDirectory(root, uid1, { plugin, name: "cache" }),
    podPluginDirectory(root, uid1, plugin),
    podSubPathsDirectory(root, uid1),
    podContainerDirectory(root, uid1, "app"),
    podHostsFile(root, uid1),
  ]).toEqual([
    "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/cache",
    "/var/lib/kubelet/pods/u1/plugins/kubernetes.io~empty-dir",
    "/var/lib/kubelet/pods/u1/volume-subpaths",
    "/var/lib/kubelet/pods/u1/containers/app",
    "/var/lib/kubelet/pods/u1/etc-hosts",
  ]);
});

test("block devices have folders of their own, on the node and in the pod's folder", () => {
  const plugin = "kubernetes.io/csi";
  expect([
    pluginsDirectory(root),
    pluginDevicesDirectory(root, plugin),
    podVolumeDevicesDirectory(root, uid1),
    podVolumeDeviceDirectory(root, uid1, plugin),
  ]).toEqual([
    "/var/lib/kubelet/plugins",
    "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices",
    "/var/lib/kubelet/pods/u1/volumeDevices",
    "/var/lib/kubelet/pods/u1/volumeDevices/kubernetes.io~csi",
  ]);
});

test("the name of a plugin is found again in the name of its folder", () => {
  const plugin = "kubernetes.io/empty-dir";
  expect(unescapePluginName(escapePluginName(plugin))).toBe(plugin);
});
