import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { normalizeStatus } from "./normalize-status.ts";

const pod: Pod = buildPod({
  metadata: { name: "shop", namespace: "default", uid: "uid-1" },
  spec: {
    initContainers: [{ name: "fetch" }, { name: "check" }],
    containers: [{ name: "web" }],
  },
});

function exited(name: string, message: string): ContainerStatus {
  const state = { terminated: { exitCode: 1, message } };
  return { name, image: "", imageID: "", ready: false, restartCount: 0, state };
}

test("the containers of a pod share 12 KiB of termination messages", () => {
  const { containerStatuses } = normalizeStatus(pod, {
    containerStatuses: [exited("web", "x".repeat(5000))],
  });
  expect(containerStatuses?.[0]?.state?.terminated?.message).toHaveLength(4096);
});

test("a message is cut between characters", () => {
  const { containerStatuses } = normalizeStatus(pod, {
    containerStatuses: [exited("web", `x${"€".repeat(2000)}`)],
  });
  expect(containerStatuses?.[0]?.state?.terminated?.message).toBe(`x${"€".repeat(1365)}`);
});

test("init containers come in the order of the spec", () => {
  const { initContainerStatuses } = normalizeStatus(pod, {
    initContainerStatuses: [exited("gone", ""), exited("check", ""), exited("fetch", "")],
  });
  expect(initContainerStatuses?.map(({ name }) => name)).toEqual(["fetch", "check", "gone"]);
});

test("times are whole seconds in UTC", () => {
  const { startTime } = normalizeStatus(pod, { startTime: "2026-05-04T12:00:00.987654+02:00" });
  expect(startTime).toBe("2026-05-04T10:00:00Z");
});
