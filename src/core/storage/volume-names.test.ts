import { expect, test } from "vitest";
import { ok } from "../../lib/result.ts";
import { sharedVolumeName, splitVolumeName } from "./volume-names.ts";

test("a name is split into the plugin and what it calls the volume, slashes and all", () => {
  const spec = { source: "inline", volume: { name: "v" } } as const;
  const name = sharedVolumeName("kubernetes.io/csi", spec, ok("driver^a/b"));
  expect(name).toEqual(ok("kubernetes.io/csi/driver^a/b"));
  expect(splitVolumeName("kubernetes.io/csi/driver^a/b")).toEqual(
    ok({ plugin: "kubernetes.io/csi", volume: "driver^a/b" }),
  );
});

test("a volume that does not say what it is has no name to share", () => {
  const spec = { source: "inline", volume: { name: "v" } } as const;
  expect(sharedVolumeName("kubernetes.io/fc", spec, ok(""))).toMatchObject({ ok: false });
});
