import fc from "fast-check";
import { expect, test } from "vitest";
import { matchRoute, route } from "./router.ts";

const calls: unknown[] = [];
const routes = [
  route(["GET"], "/api/v1/pods", (parameters) => void calls.push(parameters)),
  route(
    ["GET"],
    "/api/v1/namespaces/{ns}/pods/{name}",
    ({ ns, name }) => void calls.push(ns, name),
  ),
];

test("hands the decoded parameters to the handler and the query beside", async () => {
  calls.length = 0;
  const match = matchRoute(routes, "GET", "/api/v1/namespaces/a-b/pods/web%2D1?watch=true&x=%20");
  expect(match.kind).toBe("found");
  if (match.kind !== "found") return;
  await match.handle(undefined);
  expect(calls).toEqual(["a-b", "web-1"]);
  expect([...match.query]).toEqual([
    ["watch", "true"],
    ["x", " "],
  ]);
});

test("a known path with another method names the methods there are", () => {
  expect(matchRoute(routes, "DELETE", "/api/v1/pods")).toEqual({
    kind: "wrong-method",
    allowed: ["GET"],
  });
});

test.each([
  "/api/v1/pods/",
  "//api/v1/pods",
  "/api//v1/pods",
  "/api/v1/../v1/pods",
  "/api/v1/namespaces/../pods/x",
  "/api/v1/namespaces/%2e%2e/pods/x",
  "/api/v1/namespaces/..%2f..%2fetc/pods/x",
  "/api/v1/namespaces/a%2fb/pods/x",
  "/api/v1/namespaces/%zz/pods/x",
  "/api/v1/namespaces//pods/x",
  "http://localhost/api/v1/pods",
  "*",
  "",
])("%j is not found", (target) => {
  expect(matchRoute(routes, "GET", target)).toEqual({ kind: "not-found" });
});

test("an arbitrary target is not found, and nothing throws", () => {
  fc.assert(
    fc.property(fc.string(), (target) => {
      expect(matchRoute(routes, "GET", target).kind).toBe("not-found");
      expect(matchRoute(routes, "GET", `/${target}`).kind).toBe("not-found");
    }),
  );
});
