import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { podReferences, referencedObjects, refersTo } from "./pod-references.ts";

const pod = testPod({
  containers: [{ name: "c", envFrom: [{ configMapRef: { name: "settings" } }] }],
  imagePullSecrets: [{ name: "registry" }],
});
const { namespace } = pod.metadata;

test("a pod refers to objects of its own namespace, by kind", () => {
  const references = podReferences(pod);
  expect(referencedObjects(references, "configmaps")).toEqual([{ namespace, name: "settings" }]);
  expect(referencedObjects(references, "secrets")).toEqual([{ namespace, name: "registry" }]);
  expect(refersTo(references, "configmaps", { namespace, name: "settings" })).toBe(true);
  expect(refersTo(references, "secrets", { namespace, name: "settings" })).toBe(false);
  expect(refersTo(references, "configmaps", { namespace: "other", name: "settings" })).toBe(false);
});

test("a pod whose references are not known has none", () => {
  expect(referencedObjects(undefined, "secrets")).toEqual([]);
  expect(refersTo(undefined, "secrets", { namespace, name: "registry" })).toBe(false);
});
