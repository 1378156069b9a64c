import { describe, expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { cniCapabilities } from "./cni-capabilities.ts";
import { bandwidthProblem, networkNeeds, unmetNeed } from "./network-needs.ts";

const ingress = "kubernetes.io/ingress-bandwidth";
const egress = "kubernetes.io/egress-bandwidth";

function podWith(annotations: Record<string, string>, hostNetwork = false): Pod {
  const ports = [{ containerPort: 1 }, { containerPort: 80, hostPort: 8080 }];
  return buildPod({
    metadata: { name: "p", namespace: "default", uid: "u", annotations },
    spec: { hostNetwork, containers: [{ name: "a" }, { name: "b", ports }] },
  });
}

describe("bandwidth", () => {
  test.each(["1k", "10M", "1P", "1000", "1e3"])("%s is a limit", (limit) => {
    expect(bandwidthProblem(podWith({ [ingress]: limit, [egress]: limit }))).toBeUndefined();
  });

  test.each([
    ["999", "resource is unreasonably small (< 1kbit)"],
    ["-1M", "resource is unreasonably small (< 1kbit)"],
    ["1001T", "resource is unreasonably large (> 1Pbit)"],
    [
      "fast",
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
  ])("%s is refused by the annotation's name", (limit, problem) => {
    const pod = podWith({ [ingress]: "1M", [egress]: limit });
    expect(bandwidthProblem(pod)).toBe(`metadata.annotations[${egress}]: ${problem}`);
  });

  test("does not count on the node's own network", () => {
    expect(bandwidthProblem(podWith({ [egress]: "fast" }, true))).toBeUndefined();
    expect(networkNeeds(podWith({ [egress]: "1M" }, true))).toEqual([]);
  });
});

test("the message names the fields of a pod that the network cannot honour", () => {
  const needs = networkNeeds(podWith({ [ingress]: "1M" }));
  expect(unmetNeed(needs, new Set(["portMappings", "bandwidth"]))).toBeUndefined();
  expect(unmetNeed(needs, new Set(["bandwidth"]))).toBe(
    "spec.containers[1].ports[1].hostPort: no CNI plugin of the pod network has the capability portMappings",
  );
  expect(unmetNeed(needs, new Set(["portMappings"]))).toBe(
    `metadata.annotations[${ingress}]: no CNI plugin of the pod network has the capability bandwidth`,
  );
});

test("capabilities are those of all plugins of all networks", () => {
  const account = JSON.stringify({
    Networks: [
      { Config: { Plugins: [{ Network: { type: "loopback" } }] } },
      {
        Config: {
          Plugins: [
            { Network: { capabilities: { portMappings: true, other: false } } },
            { Network: { capabilities: { bandwidth: true } } },
          ],
        },
      },
    ],
  });
  expect(cniCapabilities(account)).toEqual(new Set(["portMappings", "bandwidth"]));
});

test.each([undefined, "", "{", "[]", '{"Networks":[]}', "null"])(
  "nothing is known from %j",
  (account) => {
    expect(cniCapabilities(account)).toBeUndefined();
  },
);
