import { expect, test } from "vitest";
import type { PodSpec } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import { admitFields } from "./field-admission.ts";

function admit(spec: Partial<PodSpec>) {
  return admitFields({
    metadata: { name: "p", namespace: "ns", uid: podUid("u") },
    spec: { containers: [{ name: "app" }], ...spec },
  });
}

test("every refused field of a pod is named with its place", () => {
  const cephfs = { monitors: ["files.example"] };
  const sources = [
    { secret: { name: "s" } },
    { podCertificate: { signerName: "a/b", keyType: "" } },
  ];
  const result = admit({
    volumes: [
      { name: "a", emptyDir: {} },
      { name: "b", cephfs },
      { name: "c", projected: { sources } },
    ],
  });
  expect(result).toEqual({
    admit: false,
    reason: "UnsupportedField",
    message:
      "spec.volumes[1].cephfs: not supported by this node; mount it on the node and use hostPath. " +
      "spec.volumes[2].projected.sources[1].podCertificate: not supported by this node; use a secret source",
  });
});

test("a FlexVolume is refused with what to use instead", () => {
  const flexVolume = { driver: "example.com/smb" };
  expect(admit({ volumes: [{ name: "a", flexVolume }] })).toMatchObject({
    message: expect.stringMatching(/^spec\.volumes\[0\]\.flexVolume: .*use the CSI driver/),
  });
});

test("a value that asks for nothing does not count as use of a field", () => {
  const empty = { name: "app", volumeDevices: [], resources: { claims: [] } };
  expect(admit({ containers: [empty], resourceClaims: [] })).toEqual({ admit: true });
  const ephemeralContainers = [{ name: "debug", resources: {} }];
  expect(admit({ ephemeralContainers })).toEqual({ admit: true });
});

test("a field of a feature that is off by default is honoured where it is on", () => {
  const lifecycle = { stopSignal: "SIGUSR1" };
  const pod = {
    metadata: { name: "p", namespace: "n", uid: podUid("u") },
    spec: { containers: [{ name: "app", lifecycle }] },
  };
  expect(admitFields(pod)).toMatchObject({
    message: expect.stringContaining("lifecycle.stopSignal: needs the feature gate"),
  });
  expect(admitFields(pod, new Set(["ContainerStopSignals"]))).toEqual({ admit: true });
});

test("a volume of a type without settings is used by being there", () => {
  expect(admit({ volumes: [{ name: "a", ephemeral: {} }] })).toMatchObject({ admit: false });
});
