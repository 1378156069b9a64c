import { expect, test } from "vitest";
import { podUid } from "../../model/ids.ts";
import { emptyObservedPod } from "../../model/observed.ts";
import { diffListings, lifecycleEvents } from "./lifecycle-events.ts";

test("a ready sandbox counts as running and one that is not as exited", () => {
  const pod = emptyObservedPod(podUid("1"), "a", "ns");
  const sandbox = { id: "s", attempt: 0, createdAtMs: 0, network: "pod" } as const;
  const ready = { ...pod, sandboxes: [{ ...sandbox, state: "ready" as const }] };
  const notReady = { ...pod, sandboxes: [{ ...sandbox, state: "notReady" as const }] };
  expect(lifecycleEvents(undefined, ready)).toEqual([{ kind: "started", containerId: "s" }]);
  expect(lifecycleEvents(ready, notReady)).toEqual([{ kind: "died", containerId: "s" }]);
  expect(lifecycleEvents(notReady, undefined)).toEqual([{ kind: "removed", containerId: "s" }]);
});

test("a pod that is gone from the listing has lost all its containers and is forgotten", () => {
  const containers = [{ id: "c", state: "running" as const }];
  const first = diffListings(new Map(), [{ uid: podUid("1"), containers, sandboxes: [] }]);
  const second = diffListings(first.pods, []);
  expect(second.events.get(podUid("1"))).toEqual([
    { kind: "died", containerId: "c" },
    { kind: "removed", containerId: "c" },
  ]);
  expect(second.pods.size).toBe(0);
});
