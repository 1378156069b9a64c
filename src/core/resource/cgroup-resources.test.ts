import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { nodeCgroupResources, qosCgroupResources } from "./cgroup-resources.ts";
import { resourceList } from "./resource-list.ts";

function podAsking(resources: ResourceRequirements): Pod {
  return buildPod({
    metadata: { name: "p", namespace: "ns", uid: "u" },
    spec: { containers: [{ name: "c", resources }] },
  });
}

test("the cgroup above all pods takes CPU, memory, PIDs and huge pages from what can be allocated", () => {
  const allocatable = resourceList({
    cpu: "4",
    memory: "1Gi",
    pid: "1000",
    "hugepages-2Mi": "4Mi",
    "ephemeral-storage": "1Gi",
  });
  expect(nodeCgroupResources(allocatable, false)).toEqual({
    cpuShares: 4096,
    memoryBytes: 1_073_741_824n,
    pidsLimit: 1000,
    hugePageLimits: new Map([[2_097_152n, 4_194_304n]]),
  });
  expect(nodeCgroupResources(allocatable, true)).toEqual({ cpuShares: 4096 });
});

test("the burstable class weighs what its pods ask for together", () => {
  const burstable = podAsking({ requests: { cpu: "1" } });
  const bestEffort = podAsking({});
  const { burstable: both, bestEffort: least } = qosCgroupResources([
    burstable,
    bestEffort,
    burstable,
  ]);
  expect(both.cpuShares).toBe(2048);
  expect(least.cpuShares).toBe(2);
});

test("memory that better classes asked for can be kept from the lower ones", () => {
  const guaranteed = podAsking({
    requests: { cpu: "1", memory: "100" },
    limits: { cpu: "1", memory: "100" },
  });
  const burstable = podAsking({ requests: { memory: "40" } });
  const reserve = { percent: 50, allocatableBytes: 1000n };
  const classes = qosCgroupResources([guaranteed, burstable], reserve);
  expect(classes.burstable.memoryBytes).toBe(950n);
  expect(classes.bestEffort.memoryBytes).toBe(930n);
  expect(qosCgroupResources([guaranteed]).burstable).not.toHaveProperty("memoryBytes");
});
