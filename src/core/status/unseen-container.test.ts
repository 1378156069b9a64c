import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import { unseenContainerStatus } from "./unseen-container.ts";

const web = { name: "web", image: "web:1" };
const pod: Pod = buildPod({
  metadata: { name: "shop", namespace: "default", uid: "uid-1" },
  spec: { containers: [web] },
});
const circumstances = { isRestartingAll: false, supportsRecursiveReadOnly: false };

function reported(state: ContainerStatus["state"]): ContainerStatus {
  return { name: "web", image: "web:1", imageID: "", ready: false, restartCount: 2, state };
}

test("a container that ran when it was last seen has ended unseen, and counts as restarted", () => {
  const status = unseenContainerStatus(pod, web, reported({ running: {} }), circumstances);
  expect(status.lastState?.terminated?.reason).toBe("ContainerStatusUnknown");
  expect(status.restartCount).toBe(3);
});

test("a container whose end is known keeps it, even if it is also called running", () => {
  const old = reported({ running: {}, terminated: { exitCode: 1 } });
  expect(unseenContainerStatus(pod, web, old, circumstances)).toEqual(old);
});
