import { expect, test } from "vitest";
import { buildPod } from "../../../../test/kit/pods.ts";
import { askedByContainer, explainTopology } from "./explain-topology.ts";
import type { ResourceHints } from "./hints.ts";
import { decideTopology, type TopologyPolicy } from "./topology-policy.ts";

const gpu = "example.com/gpu";
const hint = (preferred: boolean, ...nodes: number[]) => ({ nodes, preferred });

const container = {
  name: "main",
  resources: {
    requests: { cpu: "4", memory: "1Gi", [gpu]: "2" },
    limits: { cpu: "4", memory: "1Gi", [gpu]: "2" },
  },
};
const pod = buildPod({
  metadata: { name: "p", namespace: "ns", uid: "p" },
  spec: { containers: [container] },
});

function explain(
  name: TopologyPolicy["name"],
  hints: ResourceHints,
  machine: TopologyPolicy["machine"] = { nodes: [0, 1] },
): string {
  const policy: TopologyPolicy = { name, scope: "container", machine };
  const asked = askedByContainer(pod, container);
  return explainTopology(policy, [hints], decideTopology(policy, [hints]), asked);
}

test("the only node that has everything is named with what it has", () => {
  const cpus = [hint(true, 0), hint(true, 1), hint(false, 0, 1)];
  const hints = new Map([
    ["cpu", cpus],
    [gpu, [hint(true, 1), hint(false, 0, 1)]],
  ]);
  const because = "NUMA node 1: the only one with 4 free CPUs and 2 free healthy example.com/gpu";
  expect(explain("single-numa-node", hints)).toBe(because);
  expect(explain("restricted", hints)).toBe(because);
});

test("of several nodes the first is taken, or where distances count the closest", () => {
  const hints = new Map([["memory", [hint(true, 0), hint(true, 1)]]]);
  expect(explain("best-effort", hints)).toBe(
    "NUMA node 0: the first of 0, 1 with 1Gi of free memory",
  );
  const nodes = [0, 1, 2];
  const distances = new Map([
    [0, [10, 30, 20]],
    [1, [30, 10, 30]],
    [2, [20, 30, 10]],
  ]);
  const pairs = new Map([["cpu", [hint(true, 0, 1), hint(true, 0, 2)]]]);
  expect(explain("restricted", pairs, { nodes, distances })).toBe(
    "NUMA nodes 0,2: the closest of 0+1, 0+2 with 4 free CPUs; no single one has that",
  );
});

test("a refusal says where each resource could be had", () => {
  const hints = new Map([
    ["cpu", [hint(true, 0), hint(false, 0, 1)]],
    [gpu, []],
  ]);
  expect(explain("single-numa-node", hints)).toBe(
    "no single NUMA node has all that it asks for: 4 free CPUs on NUMA node 0, 2 free healthy example.com/gpu on none",
  );
});

test("what cannot be together is said to be apart where that is allowed", () => {
  const hints = new Map([
    ["cpu", [hint(true, 0)]],
    [gpu, [hint(true, 1)]],
  ]);
  expect(explain("best-effort", hints)).toBe(
    "NUMA nodes 0,1: the best where not all is together: 4 free CPUs on NUMA node 0, 2 free healthy example.com/gpu on NUMA node 1",
  );
});

test("a machine of one node, and a container without preference, have no choice to explain", () => {
  const hints = new Map([["cpu", [hint(true, 0)]]]);
  expect(explain("single-numa-node", hints, { nodes: [0] })).toBe(
    "NUMA node 0: this machine has no other",
  );
  expect(explain("restricted", new Map([[gpu, undefined]]))).toBe(
    "any NUMA node: nothing that it asks for is near one",
  );
});
