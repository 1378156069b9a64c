import { expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import {
  podContainerDirectory,
  podHostsFile,
  podPluginDirectory,
  podSubPathsDirectory,
  podVolumeDirectory,
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
