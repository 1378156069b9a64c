import { expect, test } from "vitest";
import type { Node } from "../../model/generated/kubernetes.ts";
import { KnownNode } from "./known-node.ts";

const machine: Node = {
  metadata: { name: "node-1" },
  status: { allocatable: { cpu: "2" }, capacity: { cpu: "4" } },
};

test("a node without a cluster is as the machine describes it", () => {
  const known = new KnownNode(machine, ["10.0.0.1"], undefined);
  expect(known.current).toBe(machine);
  expect(known.hostIps).toEqual(["10.0.0.1"]);
  expect(known.allocatable).toEqual({ cpu: "2" });
});

test("what the cluster shows of the node counts as soon as it shows it", () => {
  const cluster: { node: Node | undefined } = { node: undefined };
  const known = new KnownNode(machine, ["10.0.0.1"], cluster);
  expect(known.current).toBe(machine);
  const addresses = [{ type: "InternalIP", address: "192.0.2.1" }];
  const labels = { zone: "a" };
  cluster.node = { metadata: { labels }, status: { allocatable: { cpu: "1" }, addresses } };
  expect(known.current.metadata?.labels).toEqual(labels);
  expect(known.current.status?.capacity).toEqual({ cpu: "4" });
  expect(known.hostIps).toEqual(["192.0.2.1"]);
  expect(known.allocatable).toEqual({ cpu: "1" });
});
