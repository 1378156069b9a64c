import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type {
  ContainerStatus,
  PodSpec,
  PodStatus,
  ResourceRequirements,
} from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { formatQuantity } from "../../model/quantity.ts";
import { type PodResourceOptions, podLimits, podRequests } from "./pod-resources.ts";

function makePod(spec: Partial<PodSpec>, status: PodStatus = {}): Pod {
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "u" },
    spec: { containers: [], ...spec },
    status,
  });
}

function container(name: string, resources: ResourceRequirements, restartPolicy?: string) {
  return { name, image: "i", resources, restartPolicy };
}

function status(name: string, fields: Partial<ContainerStatus>): ContainerStatus {
  return { name, image: "i", imageID: "", ready: true, restartCount: 0, ...fields };
}

function texts(list: ReturnType<typeof podRequests>): Record<string, string> {
  return Object.fromEntries([...list].map(([name, amount]) => [name, formatQuantity(amount)]));
}

const resizing = makePod(
  {
    containers: [container("c", { requests: { cpu: "1" }, limits: { cpu: "1" } })],
    initContainers: [container("s", { requests: { cpu: "1" } }, "Always")],
  },
  {
    containerStatuses: [
      status("c", {
        allocatedResources: { cpu: "3" },
        resources: { requests: { cpu: "2" }, limits: { cpu: "4" } },
      }),
    ],
    initContainerStatuses: [status("s", { resources: { requests: { cpu: "500m" } } })],
  },
);

test.each<{ options: PodResourceOptions; requests: string; limits: string }>([
  { options: {}, requests: "2", limits: "1" },
  { options: { useStatus: true }, requests: "4", limits: "4" },
])("a resize in progress with $options asks for $requests", ({ options, requests, limits }) => {
  expect(texts(podRequests(resizing, options))).toEqual({ cpu: requests });
  expect(texts(podLimits(resizing, options))).toEqual({ cpu: limits });
});

test("an infeasible resize counts only for what is allocated and in force", () => {
  const pod = makePod(
    { containers: [container("c", { requests: { cpu: "9" }, limits: { cpu: "9" } })] },
    {
      conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }],
      containerStatuses: resizing.status?.containerStatuses ?? [],
    },
  );
  expect(texts(podRequests(pod, { useStatus: true }))).toEqual({ cpu: "3" });
  expect(texts(podLimits(pod, { useStatus: true }))).toEqual({ cpu: "4" });
});

test("a plain init container's status does not count: its resources cannot be resized in place", () => {
  const pod = makePod(
    { initContainers: [container("i", { requests: { cpu: "1" } })] },
    { initContainerStatuses: [status("i", { resources: { requests: { cpu: "5" } } })] },
  );
  expect(texts(podRequests(pod, { useStatus: true }))).toEqual({ cpu: "1" });
});

test("a pod-level resize holds the greatest of wanted, allocated and in force", () => {
  const pod = makePod(
    { resources: { requests: { cpu: "1" }, limits: { cpu: "1" } } },
    {
      allocatedResources: { cpu: "2" },
      resources: { requests: { cpu: "1500m" }, limits: { cpu: "3" } },
    },
  );
  expect(texts(podRequests(pod, { useStatus: true }))).toEqual({ cpu: "2" });
  expect(texts(podLimits(pod, { useStatus: true }))).toEqual({ cpu: "3" });
  expect(texts(podRequests(pod))).toEqual({ cpu: "1" });
});

test("overhead and containers can be left out", () => {
  const pod = makePod({
    containers: [container("c", { requests: { cpu: "1", "example.com/gpu": "1" } })],
    resources: { requests: { cpu: "2" } },
    overhead: { cpu: "250m" },
  });
  expect(texts(podRequests(pod))).toEqual({ cpu: "2250m", "example.com/gpu": "1" });
  expect(texts(podRequests(pod, { excludeOverhead: true, excludeContainers: true }))).toEqual({
    cpu: "2",
  });
});
