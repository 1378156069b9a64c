import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import type { PodExplanation } from "../../ports/agent-view.ts";
import { awaitedText } from "./awaited-text.ts";

function explanation(more: Partial<PodExplanation>): PodExplanation {
  const pod = testPod({ containers: [{ name: "main" }] });
  return { pod, workerState: "syncing", syncs: [], awaiting: [], ...more };
}

const ended = { exitCode: 3, reason: "Error", message: "no\nhost \x1b[2J" };

test("says how the pod stands, how its containers ended and what it waits for", () => {
  const { pod } = explanation({});
  const container = { name: "main", image: "i", imageID: "", ready: false, restartCount: 2 };
  const status = {
    phase: "Running",
    containerStatuses: [
      {
        ...container,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: ended },
      },
    ],
  };
  const awaiting = [{ what: "to start container main: back-off 20s" }, { what: "something else" }];
  expect(awaitedText(explanation({ pod: { ...pod, status }, awaiting }), 0)).toBe(
    "CrashLoopBackOff, 0/1 ready, 2 restarts; container main exited with code 3 (Error): no host \uFFFD[2J; " +
      "it waits for: to start container main: back-off 20s; something else",
  );
});

test("says why a pod was refused, and what failed at last", () => {
  const { pod } = explanation({});
  const status = { phase: "Failed", reason: "NodeAffinity", message: "no such node" };
  expect(awaitedText(explanation({ pod: { ...pod, status } }), 0)).toBe(
    "NodeAffinity, 0/1 ready, 0 restarts; no such node",
  );
  const sync = {
    pod: "default/web",
    kind: "sync",
    startedAtMs: 0,
    durationMs: 1,
    steps: [],
  } as const;
  const failed = { ...sync, podUid: pod.metadata.uid, error: "cannot mount" };
  expect(awaitedText(explanation({ syncs: [failed] }), 0)).toContain("it failed: cannot mount");
});
