import { expect, test } from "vitest";
import type { PodSpec, ResourceRequirements } from "../generated/kubernetes.ts";
import { contentUid } from "./content-uid.ts";
import { fixedContent } from "./fixed-content.ts";

function uid(resources: ResourceRequirements | undefined, more: Partial<PodSpec> = {}): string {
  const spec = { containers: [{ name: "web", resources }], ...more };
  return contentUid(fixedContent({ spec }), "here");
}

const burstable = { requests: { cpu: "100m" }, limits: { cpu: "1", memory: "64Mi" } };
const guaranteed = {
  requests: { cpu: "1", memory: "64Mi" },
  limits: { cpu: "1", memory: "64Mi" },
};

test("a pod that asks for more CPU and memory is the same pod", () => {
  const more = { requests: { cpu: "2" }, limits: { cpu: "3", memory: "1Gi" } };
  expect(uid(more)).toBe(uid(burstable));
});

test("a guaranteed pod that stays guaranteed is the same pod", () => {
  const more = { requests: { cpu: "2", memory: "1Gi" }, limits: { cpu: "2000m", memory: "1Gi" } };
  expect(uid(more)).toBe(uid(guaranteed));
});

test.each([
  ["a limit is dropped", { ...burstable, limits: { cpu: "1" } }],
  ["a limit becomes none", { ...burstable, limits: { cpu: "1", memory: "0" } }],
  ["storage changes", { ...burstable, requests: { cpu: "1", "ephemeral-storage": "1Gi" } }],
  ["everything is dropped", undefined],
])("it is another pod when %s", (_, resources) => {
  expect(uid(resources)).not.toBe(uid(burstable));
});

test("a pod whose class changes is another pod", () => {
  const less = { requests: { cpu: "500m", memory: "64Mi" }, limits: guaranteed.limits };
  expect(uid(less)).not.toBe(uid(guaranteed));
});

test("resources of the pod as a whole can change too", () => {
  const pod = (cpu: string) => uid(undefined, { resources: { limits: { cpu } } });
  expect(pod("2")).toBe(pod("1"));
  expect(pod("2")).not.toBe(uid(undefined));
});

test("a pod that asks for nothing keeps the UID it always had", () => {
  const content = { spec: { containers: [{ name: "web" }] } };
  expect(fixedContent(content)).toBe(content);
});
