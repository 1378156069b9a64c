import { expect, test } from "vitest";
import {
  podContainerDirectory,
  podHostsFile,
  podPluginDirectory,
  podSubPathsDirectory,
  podVolumeDirectory,
} from "./data-paths.ts";

const root = "/var/lib/kubelet/";

test("a pod's data lies where a kubelet puts it", () => {
  const plugin = "kubernetes.io/empty-dir";
  expect([
    podVolumeDirectory(root, "u1", { plugin, name: "cache" }),
    podPluginDirectory(root, "u1", plugin),
    podSubPathsDirectory(root, "u1"),
    podContainerDirectory(root, "u1", "app"),
    podHostsFile(root, "u1"),
  ]).toEqual([
    "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/cache",
    "/var/lib/kubelet/pods/u1/plugins/kubernetes.io~empty-dir",
    "/var/lib/kubelet/pods/u1/volume-subpaths",
    "/var/lib/kubelet/pods/u1/containers/app",
    "/var/lib/kubelet/pods/u1/etc-hosts",
  ]);
});
