import { expect, test } from "vitest";
import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { withLastFacts } from "./last-facts.ts";

function status(phase: string, cpu: string, podIP?: string): PodStatus {
  return {
    phase,
    podIP,
    containerStatuses: [
      {
        name: "main",
        image: "app",
        imageID: "",
        ready: false,
        restartCount: 0,
        containerID: "containerd://1",
        resources: { requests: { cpu } },
      },
    ],
  };
}

test("an edit after its end does not change what a pod is said to have had", () => {
  const shown = withLastFacts(status("Succeeded", "200m"), status("Succeeded", "100m", "10.0.0.2"));
  expect(shown.podIP).toBe("10.0.0.2");
  expect(shown.containerStatuses?.[0]?.resources).toEqual({ requests: { cpu: "100m" } });
});

test.each(["containerd://1", undefined])(
  "an ended pod is said to have had its devices also when they are given back (container %s)",
  (containerID) => {
    const device = { name: "sim.dev/gpu", resources: [{ resourceID: "gpu-0", health: "Healthy" }] };
    const [container] = status("Failed", "100m").containerStatuses ?? [];
    const failed = (fields: object): PodStatus =>
      ({
        phase: "Failed",
        containerStatuses: [{ ...container, containerID, ...fields }],
      }) as PodStatus;
    const shown = withLastFacts(failed({}), failed({ allocatedResourcesStatus: [device] }));
    expect(shown.containerStatuses?.[0]?.allocatedResourcesStatus).toEqual([device]);
  },
);

test("a pod that runs shows what it has now", () => {
  const now = status("Running", "200m");
  expect(withLastFacts(now, status("Running", "100m"))).toEqual(now);
});

test("a container of another life shows its own resources", () => {
  const before = status("Failed", "100m");
  const [container] = before.containerStatuses ?? [];
  const other = { ...before, containerStatuses: [{ ...container, containerID: "containerd://0" }] };
  const shown = withLastFacts(status("Failed", "200m"), other as PodStatus);
  expect(shown.containerStatuses?.[0]?.resources).toEqual({ requests: { cpu: "200m" } });
});
