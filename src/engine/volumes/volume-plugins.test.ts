import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { VolumePluginDeps } from "./volume-plugin.ts";
import { pluginOf, volumeRefusals } from "./volume-plugins.ts";

const gitRepo: Volume = {
  name: "source",
  gitRepo: { repository: "/var/lib/kubelet/pods/x/repository", directory: "hooks/.git" },
};

test("a git repository is never cloned: the volume has no plugin, and its pod is refused", () => {
  expect(pluginOf(gitRepo)).toBeUndefined();
  const pod: Pod = buildPod({
    metadata: { name: "p", namespace: "n", uid: "u" },
    spec: { containers: [], volumes: [gitRepo] },
  });
  expect(volumeRefusals(pod, {} as VolumePluginDeps)).toEqual([
    "spec.volumes[0].gitRepo: not supported by this node: it ran programs of the repository as root; use an init container that clones to an emptyDir",
  ]);
});
