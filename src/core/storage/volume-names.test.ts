import { expect, test } from "vitest";
import { ok } from "../../lib/result.ts";
import { sharedVolumeName, splitVolumeName } from "./volume-names.ts";

function kindNaming(plugin: string, name: string) {
  return { plugin, volumeName: () => ok(name) };
}

test("a name is split into the plugin and what it calls the volume, slashes and all", () => {
  const spec = { source: "inline", volume: { name: "v" } } as const;
  const name = sharedVolumeName(kindNaming("kubernetes.io/csi", "driver^a/b"), spec);
  expect(name).toEqual(ok("kubernetes.io/csi/driver^a/b"));
  expect(splitVolumeName("kubernetes.io/csi/driver^a/b")).toEqual(
    ok({ plugin: "kubernetes.io/csi", volume: "driver^a/b" }),
  );
});

test("a volume that does not say what it is has no name to share", () => {
  const spec = { source: "inline", volume: { name: "v" } } as const;
  expect(sharedVolumeName(kindNaming("kubernetes.io/fc", ""), spec)).toMatchObject({ ok: false });
});
