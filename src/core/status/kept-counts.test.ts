import { expect, test } from "vitest";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import { withKeptCounts } from "./kept-counts.ts";

function status(name: string, restartCount: number, containerID: string): ContainerStatus {
  return { name, restartCount, containerID, ready: false, image: "", imageID: "" };
}

test("of two accounts of a container the one with more restarts counts, else that of the API server", () => {
  const reported = [
    status("a", 1, "reported"),
    status("b", 2, "reported"),
    status("c", 3, "reported"),
  ];
  const kept = [status("a", 0, "kept"), status("b", 2, "kept"), status("c", 4, "kept")];
  const { containerStatuses } = withKeptCounts(
    { phase: "Running", containerStatuses: reported },
    { phase: "Pending", containerStatuses: kept },
  );
  expect(containerStatuses?.map(({ containerID }) => containerID)).toEqual([
    "reported",
    "reported",
    "kept",
  ]);
});

test("of a list that the API server never got all are kept if one was restarted, in the order of the spec", () => {
  const kept = [status("first", 0, "kept"), status("second", 2, "kept")];
  const next = withKeptCounts({ phase: "Pending" }, { initContainerStatuses: kept });
  expect(next.phase).toBe("Pending");
  expect(next.initContainerStatuses?.map(({ name }) => name)).toEqual(["first", "second"]);
  expect(next.containerStatuses).toBeUndefined();
});
