// What the agent does with a node's credentials: no more than a kubelet may, and nothing that gives the node more rights.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pod } from "../../src/model/pod.ts";
import { parseApiPath } from "../sim/api-path.ts";
import { SecretNode } from "./support/secret-node.ts";

let node: SecretNode;
beforeAll(async () => {
  node = await SecretNode.start(152);
});
afterAll(() => node.close());

/** What Kubernetes' node authorizer and the role system:node let a kubelet do, of what this agent has a use for. */
const allowed = new Set([
  "list nodes",
  "watch nodes",
  "get nodes",
  "create nodes",
  "patch nodes/status",
  "patch nodes",
  "get leases",
  "create leases",
  "update leases",
  "get csinodes",
  "create csinodes",
  "list csidrivers",
  "watch csidrivers",
  // All of the node's own, when their driver is gone.
  "delete resourceslices",
  "list pods",
  "watch pods",
  "get pods",
  "create pods",
  "delete pods",
  "patch pods/status",
  "list services",
  "watch services",
  "list runtimeclasses",
  "watch runtimeclasses",
  "get secrets",
  "list secrets",
  "watch secrets",
  "get configmaps",
  "list configmaps",
  "watch configmaps",
  "create serviceaccounts/token",
  "get serviceaccounts",
  "create events",
  "patch events",
  "create tokenreviews",
  "create subjectaccessreviews",
]);

const verbs = { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

test("a node asks for nothing that a kubelet may not", async () => {
  const started = (): number => node.api.memory.requests.filter(isStatusOfUses).length;
  await expect.poll(started).toBeGreaterThan(1);
  const asked = node.api.memory.requests.map(({ method, path, watch }) => {
    const { resource, name, subresource } = parseApiPath(path);
    const read = name === "" ? "list" : "get";
    const verb = watch === true ? "watch" : method === "GET" ? read : verbs[method];
    return `${verb} ${subresource === "" ? resource : `${resource}/${subresource}`}`;
  });
  expect(asked.length).toBeGreaterThan(20);
  expect([...new Set(asked)].filter((request) => !allowed.has(request))).toEqual([]);
});

function isStatusOfUses({ method, path }: { readonly method: string; readonly path: string }) {
  return method === "PATCH" && path.endsWith("/pods/uses/status");
}

test("secrets and config maps are asked for by name only", () => {
  const lists = node.api.memory.requests
    .filter(({ path }) => ["secrets", "configmaps"].includes(parseApiPath(path).resource))
    .filter(({ path, query }) => {
      return (
        parseApiPath(path).name === "" && !/^metadata\.name=./.test(query?.["fieldSelector"] ?? "")
      );
    });
  expect(lists).toEqual([]);
});

test("the node has no owner, and nothing but its mirror pods, lease and CSINode has the node as one", () => {
  const { memory } = node.api;
  const owned = memory.requests
    .filter(({ body }) => JSON.stringify(body ?? {}).includes("ownerReferences"))
    .map(({ path }) => parseApiPath(path).resource);
  expect(owned.filter((resource) => !["pods", "leases", "csinodes"].includes(resource))).toEqual(
    [],
  );
  expect(memory.list("/api/v1/nodes").map(({ metadata }) => metadata["ownerReferences"])).toEqual([
    undefined,
  ]);
  const created = memory.requests
    .filter(({ method, path }) => method === "POST" && path.endsWith("/pods"))
    .map(({ body }) => body as Pod);
  expect(created.map(({ metadata }) => metadata.ownerReferences)).toEqual([
    [expect.objectContaining({ kind: "Node", name: "node-s", controller: true })],
  ]);
  // A mirror pod must not bring what only the API server may give: accounts, secrets, claims.
  for (const { spec } of created) {
    expect(spec).not.toHaveProperty("serviceAccountName");
    expect(spec).not.toHaveProperty("resourceClaims");
  }
});
