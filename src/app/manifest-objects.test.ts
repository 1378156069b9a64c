import { expect, test } from "vitest";
import { podOfFile, splitManifest } from "./manifest-objects.ts";

const text = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team}
spec: {containers: [{name: main, image: "x:1"}]}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: "1.0"}}
- apiVersion: node.k8s.io/v1
  kind: RuntimeClass
  metadata: {name: kata}
  handler: kata
`;

test("a manifest is taken apart into one file for each object", () => {
  const split = splitManifest({ path: "m.yaml", text }, "n1");
  const objects = split.ok ? split.value : [];
  expect(objects.map(({ fileName, isPod }) => [fileName, isPod])).toEqual([
    ["pod_team_web.json", true],
    ["configmap_default_web.json", false],
    ["runtimeclass_kata.json", false],
  ]);
  expect(objects[1]?.text).toContain('"data":{"a":"1.0"}');
  const [pod] = objects;
  const file = { path: "/m/pod_team_web.json", text: pod?.text ?? "" };
  expect(podOfFile(file, "n1")?.metadata).toMatchObject({ namespace: "team", name: "web-n1" });
});

test("what is wrong is named with its line and field", () => {
  const split = splitManifest({ path: "m.yaml", text: text.replace("image:", "imag:") }, "n1");
  expect(split).toMatchObject({
    ok: false,
    error: [{ origin: "m.yaml", line: 5, field: "spec.containers[0].imag" }],
  });
});
