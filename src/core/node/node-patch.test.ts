import { expect, test } from "vitest";
import type { Node } from "../../model/generated/kubernetes.ts";
import { nodeStatusPatch } from "./node-patch.ts";

const internal = (address: string) => ({ type: "InternalIP", address });

test("addresses are replaced as a whole, since a node may have several of a type", () => {
  const before: Node = { status: { addresses: [internal("10.0.0.1"), internal("fd00::1")] } };
  const after: Node = { status: { addresses: [internal("10.0.0.2"), internal("fd00::1")] } };
  expect(nodeStatusPatch(before, after)).toEqual({
    status: { addresses: [internal("10.0.0.2"), internal("fd00::1"), { $patch: "replace" }] },
  });
});

test("first addresses are just added, and equal ones are not mentioned", () => {
  const addresses = [internal("10.0.0.1")];
  expect(nodeStatusPatch({ status: {} }, { status: { addresses } })).toEqual({
    status: { addresses },
  });
  expect(nodeStatusPatch({ status: { addresses } }, { status: { addresses } })).toEqual({});
});

test("labels go with the status, the spec never does", () => {
  const before: Node = { metadata: { labels: { a: "1" } }, spec: { podCIDR: "10.1.0.0/24" } };
  const after: Node = { metadata: { labels: { a: "2" } }, spec: {} };
  expect(nodeStatusPatch(before, after)).toEqual({ metadata: { labels: { a: "2" } } });
});
