import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { containerId, podUid } from "../../model/ids.ts";
import type { ObservedPod } from "../../model/observed.ts";
import type { Pod } from "../../model/pod.ts";
import { ResizeStatuses } from "../resources/allocation/resize-statuses.ts";
import { ResourceRecords } from "../resources/allocation/resource-records.ts";
import { PodTable } from "./pod-table.ts";
import { lookAgainIfResized, noteResizeErrors, noteResizeProgress } from "./sync-resize.ts";

const uid1 = podUid("uid-1");

function world() {
  const table = new PodTable();
  const events: string[] = [];
  const requested: string[] = [];
  return {
    events: { record: (_: unknown, { reason }: { reason: string }) => void events.push(reason) },
    reasons: events,
    requested,
    wakeups: { look: (uid: string) => void requested.push(uid) },
    resizes: new ResizeStatuses(table, { nowMs: () => 0 }),
    actuated: new ResourceRecords({
      slice: table.writer("actuated"),
      files: new MemoryFiles(),
      path: "/record",
      log: silentLog,
    }),
  };
}

function podWith(cpu: string): Pod {
  return testPod({ containers: [{ name: "web", resources: { requests: { cpu } } }] });
}

function seen(state: "running" | "exited"): ObservedPod {
  const container = {
    id: containerId("sim://1"),
    name: "web",
    state,
    exitCode: 0,
    image: "",
    imageId: "",
    imageRef: "",
    hash: "",
    restartCount: 0,
    reason: "",
    message: "",
  };
  return {
    uid: uid1,
    name: "web",
    namespace: "default",
    ips: [],
    containers: [container],
    sandboxes: [],
    activeContainerIds: [],
  };
}

test("a pod that an agent without records left running has what it was granted", () => {
  const deps = world();
  noteResizeProgress(deps, podWith("1"), seen("running"));
  expect(deps.resizes.podConditions(uid1)).toEqual([]);
  expect(deps.actuated.get(uid1)?.containers.get("web")?.requests).toEqual({ cpu: "1" });
});

test("a resize is in progress until the container has its resources, and then is reported as completed", () => {
  const deps = world();
  deps.actuated.setContainer(uid1, "web", { requests: { cpu: "1" } });
  const pod = podWith("2");
  noteResizeProgress(deps, pod, seen("running"));
  expect(deps.resizes.podConditions(uid1)).toMatchObject([{ type: "PodResizeInProgress" }]);
  lookAgainIfResized(deps, pod, seen("running"));
  expect(deps.requested).toEqual([]);
  deps.actuated.setContainer(uid1, "web", { requests: { cpu: "2000m" } });
  lookAgainIfResized(deps, pod, seen("running"));
  expect(deps.requested).toEqual(["uid-1"]);
  noteResizeProgress(deps, pod, seen("running"));
  expect(deps.reasons).toEqual(["ResizeCompleted"]);
  expect(deps.resizes.podConditions(uid1)).toEqual([]);
  lookAgainIfResized(deps, pod, seen("running"));
  expect(deps.requested).toEqual(["uid-1"]);
});

test("what does not run is not resized: it starts with what it was granted", () => {
  const deps = world();
  deps.actuated.setContainer(uid1, "web", { requests: { cpu: "1" } });
  noteResizeProgress(deps, podWith("2"), seen("exited"));
  expect(deps.resizes.podConditions(uid1)).toEqual([]);
});

test("an error is reported once, and again when it is another one", () => {
  const deps = world();
  const failed = (message: string) => [
    {
      kind: "resize" as const,
      target: "web",
      because: "",
      durationMs: 0,
      failure: { code: "ResizePodInPlaceError", message },
    },
  ];
  expect(noteResizeErrors(deps, podWith("2"), failed("busy"))).toBe(true);
  expect(noteResizeErrors(deps, podWith("2"), failed("busy"))).toBe(false);
  expect(noteResizeErrors(deps, podWith("2"), failed("gone"))).toBe(true);
  expect(deps.reasons).toEqual(["ResizeError", "ResizeError"]);
  expect(deps.resizes.podConditions(uid1)).toMatchObject([
    { type: "PodResizeInProgress", reason: "Error", message: "gone" },
  ]);
});
