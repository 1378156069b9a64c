import { expect, test } from "vitest";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import { withoutEarlyEnd } from "./early-end.ts";

const container = (name: string, state: ContainerStatus["state"]): ContainerStatus => ({
  name,
  state,
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
});
const waiting = { waiting: { reason: "PodInitializing" } };
const running = { running: {} };
const failed = { terminated: { exitCode: 1 } };

test("a pod has not failed while a sidecar of it runs", () => {
  const initContainerStatuses = [container("sidecar", running), container("init", failed)];
  const status = { phase: "Failed", initContainerStatuses };
  const untouched = { ...status, containerStatuses: [container("main", waiting)] };
  expect(withoutEarlyEnd(untouched).phase).toBe("Pending");
  const begun = { ...status, containerStatuses: [container("main", failed)] };
  expect(withoutEarlyEnd(begun).phase).toBe("Running");
});

test("a pod of which nothing runs has ended", () => {
  const status = { phase: "Succeeded", containerStatuses: [container("main", failed)] };
  expect(withoutEarlyEnd(status)).toBe(status);
});
