import { expect, test } from "vitest";
import {
  checkpointsDirectory,
  escapePluginName,
  pluginRegistrationDirectory,
  pluginsDirectory,
  podContainerDirectory,
  podHostsFile,
  podPluginDirectory,
  podResourcesDirectory,
  podSubPathsDirectory,
  podVolumeDevicesDirectory,
  podVolumeDirectory,
  unescapePluginName,
} from "./data-paths.ts";

const root = "/var/lib/kubelet/";

test("a pod's data lies where a kubelet puts it", () => {
  const plugin = "kubernetes.io/empty-dir";
  expect([
    podVolumeDirectory(root, "u1", { plugin, name: "cache" }),
    podVolumeDevicesDirectory(root, "u1", plugin),
    podPluginDirectory(root, "u1", plugin),
    podSubPathsDirectory(root, "u1"),
    podContainerDirectory(root, "u1", "app"),
    podHostsFile(root, "u1"),
  ]).toEqual([
    "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/cache",
    "/var/lib/kubelet/pods/u1/volumeDevices/kubernetes.io~empty-dir",
    "/var/lib/kubelet/pods/u1/plugins/kubernetes.io~empty-dir",
    "/var/lib/kubelet/pods/u1/volume-subpaths",
    "/var/lib/kubelet/pods/u1/containers/app",
    "/var/lib/kubelet/pods/u1/etc-hosts",
  ]);
});

test("the node's data lies where a kubelet puts it", () => {
  expect([
    pluginsDirectory(root),
    pluginRegistrationDirectory(root),
    checkpointsDirectory(root),
    podResourcesDirectory(root),
  ]).toEqual([
    "/var/lib/kubelet/plugins",
    "/var/lib/kubelet/plugins_registry",
    "/var/lib/kubelet/checkpoints",
    "/var/lib/kubelet/pod-resources",
  ]);
});

test("a plugin name survives its folder name", () => {
  expect(unescapePluginName(escapePluginName("kubernetes.io/csi"))).toBe("kubernetes.io/csi");
});
