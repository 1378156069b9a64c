import { expect, test } from "vitest";
import { hasNodeStatusChanged } from "./node-change.ts";

const ready = { type: "Ready", status: "True", lastHeartbeatTime: "1", lastTransitionTime: "1" };
const disk = { type: "DiskPressure", status: "False" };

test("heartbeat times and the order of conditions are not a change", () => {
  const before = { conditions: [ready, disk] };
  expect(
    hasNodeStatusChanged(before, { conditions: [disk, { ...ready, lastHeartbeatTime: "2" }] }),
  ).toBe(false);
});

test("a transition is a change, and so is one condition more", () => {
  const before = { conditions: [ready] };
  expect(
    hasNodeStatusChanged(before, { conditions: [{ ...ready, lastTransitionTime: "2" }] }),
  ).toBe(true);
  expect(hasNodeStatusChanged(before, { conditions: [ready, disk] })).toBe(true);
});

test("an empty list is as good as none", () => {
  expect(hasNodeStatusChanged({ images: [], capacity: {} }, {})).toBe(false);
  expect(hasNodeStatusChanged({ images: [{ names: ["a"] }] }, {})).toBe(true);
});
