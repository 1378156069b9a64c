import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../../model/pod.ts";
import { resizedSandboxResources } from "./linux-resources.ts";

const metadata = { name: "p", namespace: "ns", uid: "u" };
const cgroup = {
  cpuShares: 1024,
  cpuQuotaUs: 100_000,
  cpuPeriodUs: 100_000,
  memoryBytes: 1_048_576n,
};

test("a resized sandbox has what its pod's cgroup has", () => {
  const pod: Pod = buildPod({ metadata, spec: { containers: [] } });
  expect(resizedSandboxResources(pod, cgroup)).toEqual({
    cpuShares: 1024n,
    cpuQuota: 100_000n,
    cpuPeriod: 100_000n,
    memoryLimitInBytes: 1_048_576n,
  });
});

test("the overhead is passed separately from what the containers may use", () => {
  const overhead = { cpu: "250m", memory: "48576" };
  const pod: Pod = buildPod({ metadata, spec: { containers: [], overhead } });
  expect(resizedSandboxResources(pod, cgroup)).toMatchObject({
    cpuShares: 768n,
    cpuQuota: 75_000n,
    memoryLimitInBytes: 1_000_000n,
  });
});
