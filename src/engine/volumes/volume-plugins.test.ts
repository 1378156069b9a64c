import { expect, test } from "vitest";
import { findKindOf } from "../../core/storage/kinds/find-kind.ts";
import { refusedUses } from "../../model/fields/refused-uses.ts";
import type { Volume } from "../../model/generated/kubernetes.ts";
import { volumePlugins } from "./volume-plugins.ts";

test.each(volumePlugins)("the type $field is known where volumes are looked up", (plugin) => {
  const volume = { name: "a", [plugin.field]: {} };
  expect(findKindOf({ source: "inline", volume }, [])).toMatchObject({
    value: { plugin: plugin.name },
  });
});

const gitRepo: Volume = {
  name: "source",
  gitRepo: { repository: "/var/lib/kubelet/pods/x/repository", directory: "hooks/.git" },
};

test("a git repository is never cloned: the volume has no plugin, and its pod is refused", () => {
  expect(volumePlugins.filter(({ field }) => gitRepo[field] !== undefined)).toEqual([]);
  const [refused] = refusedUses({ containers: [], volumes: [gitRepo] }, "strict");
  expect(`${refused?.path}: ${refused?.reason}`).toBe(
    "spec.volumes[0].gitRepo: not supported by this node: it ran programs of the repository as root; use an init container that clones to an emptyDir",
  );
});
