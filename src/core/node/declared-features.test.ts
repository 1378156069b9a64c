import { expect, test } from "vitest";
import { nodeDeclaredFeatures } from "./declared-features.ts";

test("a node declares what its gates allow, sorted", () => {
  expect(nodeDeclaredFeatures((gate) => gate !== "ExtendWebSocketsToKubelet", true)).toEqual([
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
  ]);
});

test("what the runtime cannot do is not declared, and nothing without the gate of all", () => {
  expect(nodeDeclaredFeatures(() => true, false)).not.toContain("UserNamespacesHostNetworkSupport");
  expect(nodeDeclaredFeatures((gate) => gate !== "NodeDeclaredFeatures", true)).toEqual([]);
});
