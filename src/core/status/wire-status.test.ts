import { expect, test } from "vitest";
import type { ContainerStatus } from "../../model/generated/kubernetes.ts";
import { wireStatus } from "./wire-status.ts";

const container: ContainerStatus = {
  name: "c",
  image: "i",
  imageID: "",
  ready: false,
  restartCount: 0,
  lastState: {},
};

test("empty lists and maps are left out, empty objects and values stay", () => {
  const status = wireStatus({
    phase: "Running",
    message: "",
    initContainerStatuses: [],
    allocatedResources: {},
    resources: { requests: {}, limits: { cpu: "1" } },
    containerStatuses: [{ ...container, resources: { requests: {} } }],
  });
  expect(status).toStrictEqual({
    phase: "Running",
    message: "",
    resources: { limits: { cpu: "1" } },
    containerStatuses: [{ ...container, resources: {} }],
  });
});
