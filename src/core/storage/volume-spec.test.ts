import { expect, test } from "vitest";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

test("a volume of the pod itself has the pod's name for it", () => {
  const spec: VolumeSpec = { source: "inline", volume: { name: "data" } };
  expect(volumeSpecName(spec)).toBe("data");
});

test("a claimed volume has the name of the persistent volume", () => {
  const persistentVolume = { metadata: { name: "pv-1" } };
  const spec: VolumeSpec = { source: "persistentVolume", persistentVolume, readOnly: false };
  expect(volumeSpecName(spec)).toBe("pv-1");
});
