import { expect, test } from "vitest";
import { wireStatus } from "./wire-status.ts";

test("empty lists and maps are left out, empty objects and values stay", () => {
  const status = wireStatus({
    phase: "Running",
    message: "",
    initContainerStatuses: [],
    allocatedResources: {},
    resources: { requests: {}, limits: { cpu: "1" } },
    containerStatuses: [{ name: "c", lastState: {}, resources: { requests: {} } }],
  });
  expect(status).toStrictEqual({
    phase: "Running",
    message: "",
    resources: { limits: { cpu: "1" } },
    containerStatuses: [{ name: "c", lastState: {}, resources: {} }],
  });
});
