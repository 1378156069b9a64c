import { describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { containerId, podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedContainer } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { computePodStatus, type PodStatusInput } from "./pod-status.ts";

const pod: Pod = buildPod({
  metadata: { name: "shop", namespace: "default", uid: "uid-1", generation: 3 },
  spec: {
    containers: [
      {
        name: "web",
        image: "web:1",
        readinessProbe: { exec: { command: ["true"] } },
        resources: { requests: { cpu: "1", memory: "64Mi" }, limits: { cpu: "2" } },
        volumeMounts: [
          { name: "data", mountPath: "/data", readOnly: true, recursiveReadOnly: "IfPossible" },
          { name: "logs", mountPath: "/logs" },
        ],
      },
    ],
  },
});

const web: ObservedContainer = {
  id: containerId("containerd://web"),
  name: "web",
  state: "running",
  startedAtMs: 1_000_000,
  exitCode: 0,
  image: "web:1",
  imageId: "",
  imageRef: "",
  hash: "0",
  restartCount: 0,
  reason: "",
  message: "",
};

const nothingSeen: PodStatusInput = {
  pod,
  observed: emptyObservedPod(podUid("uid-1"), "shop", "default"),
  isTerminal: false,
  startFailures: new Map(),
  probes: {
    agentStartedAtMs: 0,
    readinessProbed: new Set(["web"]),
    startupProbed: new Set(),
    readinessResults: new Map(),
    startupResults: new Map(),
  },
  resizeConditions: [],
  hostIps: [],
  primaryIpFamily: 4,
  supportsRecursiveReadOnly: true,
};

const webSeen: PodStatusInput = {
  ...nothingSeen,
  observed: { ...nothingSeen.observed, containers: [web] },
};

function withApiStatus(status: PodStatus): Pod {
  return { ...pod, status };
}

describe("readiness", () => {
  test("a container whose readiness is not known yet is probed at once", () => {
    const { status, probeNow } = computePodStatus(webSeen);
    expect(probeNow).toEqual(["web"]);
    expect(status.containerStatuses?.[0]).toMatchObject({ ready: false, started: true });
  });

  test("a container that passed its probe is ready and not probed again for it", () => {
    const readinessResults = new Map([[web.id, "Success"]] as const);
    const probes = { ...webSeen.probes, readinessResults };
    const { status, probeNow } = computePodStatus({ ...webSeen, probes });
    expect(probeNow).toEqual([]);
    expect(status.containerStatuses?.[0]).toMatchObject({ ready: true, started: true });
  });

  test("a container of a ready pod stays ready when the agent restarts", () => {
    const input = {
      ...webSeen,
      pod: withApiStatus({ conditions: [{ type: "Ready", status: "True" }] }),
      probes: { ...webSeen.probes, agentStartedAtMs: 2_000_000 },
    };
    expect(computePodStatus(input).status.containerStatuses?.[0]?.ready).toBe(true);
  });
});

describe("resize", () => {
  const pending = { type: "PodResizePending", status: "True", observedGeneration: 2 };

  test("its conditions are shown with the generation that they are about", () => {
    const { status } = computePodStatus({ ...webSeen, resizeConditions: [pending] });
    expect(status.conditions?.[0]).toEqual(pending);
  });

  test("a pod that ends shows no resize", () => {
    const input = { ...webSeen, isTerminal: true, resizeConditions: [pending] };
    const types = computePodStatus(input).status.conditions?.map(({ type }) => type);
    expect(types).not.toContain("PodResizePending");
  });

  test("the status shows what the runtime applies instead of what is asked for", () => {
    const resources = { cpuRequest: "1500m", memoryRequest: "32Mi" };
    const observed = { ...webSeen.observed, containers: [{ ...web, resources }] };
    const { status } = computePodStatus({ ...webSeen, observed });
    expect(status.containerStatuses?.[0]).toMatchObject({
      resources: { requests: { cpu: "1500m", memory: "32Mi" }, limits: { cpu: "2" } },
      allocatedResources: { cpu: "1", memory: "64Mi" },
    });
  });

  test("a running pod shows what its cgroup is set to", () => {
    const podCgroup = { cpuRequest: "1100m", cpuLimit: "2500m", memoryLimit: "1Gi" };
    const input = { ...webSeen, pod: withApiStatus({ phase: "Running" }), podCgroup };
    expect(computePodStatus(input).status.resources).toEqual({
      requests: { cpu: "1100m", memory: "64Mi" },
      limits: { cpu: "2500m", memory: "1Gi" },
    });
  });
});

test("a mount that the runtime can make read-only all the way down says so", () => {
  const { status } = computePodStatus(nothingSeen);
  expect(status.containerStatuses?.[0]?.volumeMounts).toEqual([
    { name: "data", mountPath: "/data", readOnly: true, recursiveReadOnly: "Enabled" },
    { name: "logs", mountPath: "/logs" },
  ]);
});

test("a container shows the signal that stops it", () => {
  const containers = [{ ...web, stopSignal: "SIGUSR1" }];
  const observed = { ...webSeen.observed, containers };
  const { status } = computePodStatus({ ...webSeen, observed });
  expect(status.containerStatuses?.[0]?.stopSignal).toBe("SIGUSR1");
});

test("a node without addresses leaves the address fields out", () => {
  const { status } = computePodStatus(nothingSeen);
  expect([status.hostIP, status.hostIPs, status.podIP, status.podIPs]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
