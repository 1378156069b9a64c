import { expect, test } from "vitest";
import { runningContainer } from "../../../test/kit/carry-out.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod, type ObservedPod } from "../../model/observed.ts";
import { planRemoval, planTermination } from "./plan-end.ts";

const pod = testPod({ containers: [{ name: "web" }] });
const ready = { id: "sb1", state: "ready", attempt: 1, createdAtMs: 0, network: "pod" } as const;
const observed: ObservedPod = {
  ...emptyObservedPod(podUid("uid-1"), "web", "default"),
  containers: [{ ...runningContainer({ name: "web" }), sandboxId: "sb1" }],
  sandboxes: [ready, { ...ready, id: "late", attempt: 0 }],
};

test("a pod that ends is stopped as a whole, then its leftovers", () => {
  const { steps } = planTermination({ pod, observed, graceSeconds: 5, isWanted: true });
  expect(steps).toMatchObject([
    { kind: "kill-pod", graceSeconds: 5, because: "the pod is ending, with 5 s of grace" },
    { kind: "stop-sandbox", sandboxId: "late" },
  ]);
});

test("a pod that only the runtime knows ends because no source wants it", () => {
  const { steps } = planTermination({ pod, observed, isWanted: false });
  expect(steps[0]?.because).toBe("no source wants this pod");
});

test("what a pod left goes with its logs, containers before sandboxes", () => {
  expect(planRemoval({ observed }).steps).toMatchObject([
    { kind: "remove-container", name: "web", keepLogs: false },
    { kind: "stop-sandbox", sandboxId: "sb1" },
    { kind: "remove-sandbox", sandboxId: "sb1" },
    { kind: "stop-sandbox", sandboxId: "late" },
    { kind: "remove-sandbox", sandboxId: "late" },
  ]);
});
