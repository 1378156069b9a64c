import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import { err, ok } from "../../lib/result.ts";
import type { Container } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { configSourceAnnotation } from "../../model/pod-source.ts";
import { containerEnv, type EnvSources } from "./container-env.ts";

const pod: Pod = buildPod({
  metadata: { name: "p", namespace: "ns", uid: "u" },
  spec: { containers: [], enableServiceLinks: false },
});

const sources: EnvSources = {
  services: [],
  configMap: () => err({ code: "failed", message: "the API server does not answer" }),
  secret: () => ok({ data: { key: "AP8=" } }),
  envFile: (volume, path) =>
    volume === "files" ? { path: `/volumes/files/${path}`, text: "A='x'" } : undefined,
  podIps: [],
  hostIps: [],
  allocatable: undefined,
};

function envOf(fields: Partial<Container>, given: Partial<EnvSources> = {}, of: Pod = pod) {
  const result = containerEnv(of, { name: "c", ...fields }, { ...sources, ...given });
  return result.ok ? Object.fromEntries(result.value) : result.error;
}

function fromFile(volumeName: string, path: string, key: string, optional?: boolean) {
  return { env: [{ name: "E", valueFrom: { fileKeyRef: { volumeName, path, key, optional } } }] };
}

test("a key of an environment file becomes a variable", () => {
  expect(envOf(fromFile("files", "env", "A"))).toEqual({ E: "x" });
});

test("what an environment file lacks is refused unless it is optional", () => {
  expect(envOf(fromFile("files", "env", "B"))).toBe(
    'environment variable key "B" not found in file "/volumes/files/env"',
  );
  expect(envOf(fromFile("files", "env", "B", true))).toEqual({});
  expect(envOf(fromFile("none", "env", "A", true))).toBe(
    'cannot find the volume "none" referenced by FileKeyRef',
  );
});

test("an environment file that cannot be read or understood is refused", () => {
  for (const text of [undefined, "A"]) {
    const given = { envFile: () => ({ path: "/x", text }) };
    expect(envOf(fromFile("v", "p", "A"), given)).toBe("couldn't parse env file");
  }
});

test("an optional config map is not let off when the look-up fails", () => {
  const configMapRef = { name: "cm", optional: true };
  expect(envOf({ envFrom: [{ configMapRef }] })).toBe("the API server does not answer");
  const configMapKeyRef = { name: "cm", key: "k", optional: true };
  expect(envOf({ env: [{ name: "E", valueFrom: { configMapKeyRef } }] })).toBe(
    "the API server does not answer",
  );
});

test("bytes of a secret that are not UTF-8 are replaced", () => {
  const secretKeyRef = { name: "s", key: "key" };
  expect(envOf({ env: [{ name: "E", valueFrom: { secretKeyRef } }] })).toEqual({
    E: "\u0000\uFFFD",
  });
});

test("a property that every object has is not a key of a config map", () => {
  const configMapKeyRef = { name: "cm", key: "constructor" };
  const found = { configMap: () => ok({ data: { a: "b" } }) };
  expect(envOf({ env: [{ name: "E", valueFrom: { configMapKeyRef } }] }, found)).toBe(
    "couldn't find key constructor in ConfigMap ns/cm",
  );
});

test("only static pods start before services have been read", () => {
  const given = { services: undefined };
  expect(envOf({}, given)).toBe(
    "services have not yet been read at least once, cannot construct envvars",
  );
  const annotations = { [configSourceAnnotation]: "file" };
  expect(envOf({}, given, { ...pod, metadata: { ...pod.metadata, annotations } })).toEqual({});
});

test("resources and host addresses wait for the node", () => {
  const resourceFieldRef = { resource: "limits.cpu" };
  expect(envOf({ env: [{ name: "E", valueFrom: { resourceFieldRef } }] })).toBe(
    "failed to find node object, expected a node",
  );
  const fieldRef = { apiVersion: "v1", fieldPath: "status.hostIP" };
  expect(envOf({ env: [{ name: "E", valueFrom: { fieldRef } }] })).toMatch(/^host IP unknown/);
});

test("an init container named by another does not get the node's amounts as limits", () => {
  const init = { name: "i", resources: {} };
  const withInit: Pod = { ...pod, spec: { ...pod.spec, initContainers: [init] } };
  const resourceFieldRef = { resource: "limits.cpu", containerName: "i" };
  const fields = { env: [{ name: "E", valueFrom: { resourceFieldRef } }] };
  expect(envOf(fields, { allocatable: { cpu: "4" } }, withInit)).toEqual({ E: "0" });
});
