import { expect, test } from "vitest";
import type { PodSpec } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { admitFields } from "./field-admission.ts";

function podWith(spec: Partial<PodSpec>): Pod {
  return {
    metadata: { name: "p", namespace: "ns", uid: podUid("u") },
    spec: { containers: [{ name: "app" }], ...spec },
  };
}

function admit(spec: Partial<PodSpec>) {
  return admitFields(podWith(spec), "strict");
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
      "spec.volumes[1].cephfs: not supported by this node; use the CSI driver of the storage, or mount it on the node and use hostPath. " +
      "spec.volumes[2].projected.sources[1].podCertificate: not supported by this node without a cluster; use a secret source, or join a cluster with `berth kubelet` and its feature gate PodCertificateRequest",
  });
});

test("a FlexVolume is refused with what to use instead", () => {
  const flexVolume = { driver: "example.com/smb" };
  expect(admit({ volumes: [{ name: "a", flexVolume }] })).toMatchObject({
    message: expect.stringMatching(/^spec\.volumes\[0\]\.flexVolume: .*use the CSI driver/),
  });
});

test("claims of devices are refused with what gives devices without a cluster", () => {
  const resourceClaims = [{ name: "gpu", resourceClaimName: "gpu" }];
  expect(admit({ resourceClaims })).toMatchObject({
    message: expect.stringMatching(
      /^spec\.resourceClaims: .*run the device plugin of the hardware/,
    ),
  });
});

test("a value that asks for nothing does not count as use of a field", () => {
  const empty = { name: "app", volumeDevices: [], resources: { claims: [] } };
  expect(admit({ containers: [empty], resourceClaims: [] })).toEqual({ admit: true });
  const ephemeralContainers = [{ name: "debug", resources: {} }];
  expect(admit({ ephemeralContainers })).toEqual({ admit: true });
});

test("in a kubelet's place, what a kubelet on Linux ignores or waits for is not refused", () => {
  const pod = podWith({
    securityContext: { windowsOptions: { runAsUserName: "x" } },
    containers: [{ name: "app", lifecycle: { stopSignal: "SIGUSR1" } }],
    volumes: [
      { name: "old", cephfs: { monitors: ["10.0.0.1"] } },
      { name: "flex", flexVolume: { driver: "x/y" } },
    ],
  });
  expect(admitFields(pod, "strict")).toMatchObject({
    message: expect.stringMatching(/stopSignal: .*windowsOptions: .*cephfs: /),
  });
  expect(admitFields(pod, "kubelet")).toEqual({ admit: true });
});

test("a volume of a type without settings is used by being there", () => {
  expect(admit({ volumes: [{ name: "a", storageos: {} }] })).toMatchObject({ admit: false });
});
