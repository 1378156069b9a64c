import { expect, test } from "vitest";
import type { VolumeMount } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import { containerMounts, type MountedVolume, type MountInputs } from "./container-mounts.ts";

const volume: MountedVolume = {
  kind: "kubernetes.io/host-path",
  path: "/v",
  readOnly: false,
  managed: false,
  selinuxRelabel: false,
  selinuxLabeled: false,
};

function mounts(volumeMounts: readonly VolumeMount[], inputs: Partial<MountInputs> = {}) {
  const container = { name: "app", volumeMounts };
  return containerMounts({
    pod: {
      metadata: { name: "p", namespace: "ns", uid: podUid("u") },
      spec: { containers: [container] },
    },
    container,
    podIps: [],
    volumes: new Map([["data", volume]]),
    environment: new Map(),
    supportsRecursiveReadOnly: false,
    dataRoot: "/var/lib/kubelet",
    ...inputs,
  });
}

test("a sub-path yields what has to be bound safely before the container starts", () => {
  const other = { name: "data", mountPath: "/b" };
  expect(mounts([other, { ...other, mountPath: "/a", subPath: "x//y" }])).toMatchObject({
    ok: true,
    value: [
      { hostPath: "/v" },
      { hostPath: "/v/x/y", subPath: { volumePath: "/v", path: "x//y", mountIndex: 1 } },
    ],
  });
});

test("all missing variables of a sub-path are named", () => {
  const mount = { name: "data", mountPath: "/a", subPathExpr: "$(B)/$(A)/$(B)" };
  expect(mounts([mount])).toEqual({ ok: false, error: "missing value for A, B" });
});

test("recursive read-only and propagation exclude each other", () => {
  const mount = {
    name: "data",
    mountPath: "/a",
    readOnly: true,
    recursiveReadOnly: "IfPossible",
    mountPropagation: "HostToContainer",
  };
  expect(mounts([mount])).toEqual({
    ok: false,
    error:
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not compatible with propagation "HostToContainer"',
  });
});

test("a pod in the node's network has a hosts file even without addresses", () => {
  const container = { name: "app" };
  const pod = {
    metadata: { name: "p", namespace: "ns", uid: podUid("u") },
    spec: { containers: [container], hostNetwork: true },
  };
  expect(mounts([], { pod })).toMatchObject({
    ok: true,
    value: [{ hostPath: "/var/lib/kubelet/pods/u/etc-hosts", containerPath: "/etc/hosts" }],
  });
});
