import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Node } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { type AdmissionFacts, admitPod } from "./admit-pod.ts";

const node: Node = { metadata: { name: "n" }, status: { allocatable: { pods: "1" } } };
const facts: AdmissionFacts = {
  node,
  sysctls: { names: new Map(), prefixes: new Map() },
  appArmorEnabled: false,
  fieldRules: "strict",
};
const pod: Pod = buildPod({
  metadata: { name: "p", namespace: "n", uid: "u" },
  spec: { containers: [{ name: "c", image: "i" }] },
  status: { phase: "Pending" },
});

test("a pod that asks for nothing special is taken", () => {
  expect(admitPod(pod, [], facts).result).toEqual({ admit: true });
});

test.each([
  ["SysctlForbidden", { sysctls: [{ name: "kernel.sem", value: "1" }] }],
  ["AppArmor", { appArmorProfile: { type: "RuntimeDefault" } }],
] as const)("a pod is refused with %s", (reason, securityContext) => {
  const asking: Pod = { ...pod, spec: { ...pod.spec, securityContext } };
  expect(admitPod(asking, [], facts).result).toMatchObject({ admit: false, reason });
});

test("a pod that needs a feature that the node does not declare is refused", () => {
  const restartPolicyRules = [
    { action: "RestartAllContainers", exitCodes: { operator: "In", values: [1] } },
  ];
  const containers = [{ name: "c", image: "i", restartPolicyRules }];
  const asking: Pod = { ...pod, spec: { containers } };
  expect(admitPod(asking, [], facts).result).toMatchObject({ reason: "PodFeatureUnsupported" });
});

test("a pod with resources of its own is refused where the feature gate is off", () => {
  const asking: Pod = { ...pod, spec: { ...pod.spec, resources: { limits: { cpu: "1" } } } };
  expect(admitPod(asking, [], facts).result).toEqual({ admit: true });
  expect(admitPod(asking, [], { ...facts, podLevelResources: false }).result).toEqual({
    admit: false,
    reason: "PodLevelResourcesNotSupported",
    message: "PodLevelResources feature gate is disabled",
  });
  expect(admitPod(pod, [], { ...facts, podLevelResources: false }).result).toEqual({ admit: true });
});
