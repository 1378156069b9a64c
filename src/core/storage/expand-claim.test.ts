import { describe, expect, test } from "vitest";
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from "../../model/generated/kubernetes.ts";
import { mustParseQuantity } from "../../model/quantity.ts";
import {
  claimStatusPatch,
  decideExpansion,
  expansionFailed,
  expansionFinished,
  expansionStarted,
  tracksExpansion,
} from "./expand-claim.ts";

const sizes = { oldSize: mustParseQuantity("1Gi"), newSize: mustParseQuantity("2Gi") };
const at = "2026-01-01T00:00:00Z";

function claimWith(
  status: PersistentVolumeClaimStatus,
  claim: PersistentVolumeClaim = {},
): PersistentVolumeClaim {
  return {
    ...claim,
    metadata: { resourceVersion: "7", ...claim.metadata },
    spec: { resources: { requests: { storage: "2Gi" } }, ...claim.spec },
    status: { phase: "Bound", capacity: { storage: "1Gi" }, ...status },
  };
}

const pending = claimWith({
  allocatedResources: { storage: "2Gi" },
  allocatedResourceStatuses: { storage: "NodeResizePending" },
});

describe("whether the node may expand", () => {
  test("is asked only where the controller keeps track", () => {
    expect(tracksExpansion(claimWith({}))).toBe(false);
    expect(tracksExpansion(claimWith({ allocatedResources: { storage: "2Gi" } }))).toBe(true);
    expect(tracksExpansion(pending)).toBe(true);
  });

  test.each<[string, boolean]>([
    ["NodeResizePending", true],
    ["NodeResizeInProgress", true],
    ["NodeResizeInfeasible", false],
    ["ControllerResizeInProgress", false],
  ])("%s: %s", (resizeStatus, isAllowed) => {
    const claim = claimWith({ allocatedResourceStatuses: { storage: resizeStatus } });
    expect(decideExpansion(claim, sizes, false).skip === undefined).toBe(isAllowed);
  });

  test("a claim that has the size already is done, unless other nodes may use it", () => {
    const status = { capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } };
    const once = decideExpansion(claimWith(status), sizes, false);
    expect(once).toMatchObject({ isClaimUpdated: true, skip: { isDone: true } });
    const spec = { accessModes: ["ReadWriteMany"] };
    expect(decideExpansion(claimWith(status, { spec }), sizes, false).skip).toBeUndefined();
    const annotations = { "volume.kubernetes.io/node-expansion-not-required": "true" };
    const refused = claimWith(status, { spec, metadata: { annotations } });
    expect(decideExpansion(refused, sizes, false).skip).toBeDefined();
  });

  test("a second failure of a size that the user no longer asks for is the last", () => {
    const smaller = claimWith(
      { allocatedResourceStatuses: { storage: "NodeResizePending" } },
      { spec: { resources: { requests: { storage: "1500Mi" } } } },
    );
    expect(decideExpansion(smaller, sizes, false).isInfeasibleOnFailure).toBe(false);
    expect(decideExpansion(smaller, sizes, true).isInfeasibleOnFailure).toBe(true);
    expect(decideExpansion(pending, sizes, true).isInfeasibleOnFailure).toBe(false);
  });
});

describe("the claim's status", () => {
  test("says that the node is at it", () => {
    const started = expansionStarted(pending);
    expect(claimStatusPatch(pending, started, { isVersionChecked: true })).toEqual({
      metadata: { resourceVersion: "7" },
      status: { allocatedResourceStatuses: { storage: "NodeResizeInProgress" } },
    });
    expect(
      claimStatusPatch(pending, pending.status ?? {}, { isVersionChecked: true }),
    ).toBeUndefined();
  });

  test("gets its size, and loses the conditions of the expansion, when it is done", () => {
    const other = { type: "ModifyingVolume", status: "True" };
    const claim = claimWith({
      ...pending.status,
      conditions: [{ type: "FileSystemResizePending", status: "True" }, other],
    });
    const finished = expansionFinished(claim, sizes.newSize);
    expect(finished).toMatchObject({ capacity: { storage: "2Gi" }, conditions: [other] });
    expect(claimStatusPatch(claim, finished, { isVersionChecked: false })).toEqual({
      metadata: {},
      status: {
        capacity: { storage: "2Gi" },
        allocatedResourceStatuses: null,
        conditions: [other],
      },
    });
  });

  test("keeps the first message of a failure, and says when there is no hope", () => {
    const failure = { message: "no room", at, isInfeasible: false };
    const first = expansionFailed(pending, failure);
    expect(first.conditions).toEqual([
      {
        type: "NodeResizeError",
        status: "True",
        lastTransitionTime: at,
        message: "failed to expand pvc with no room",
      },
    ]);
    expect(first.allocatedResourceStatuses).toEqual({ storage: "NodeResizePending" });
    const second = expansionFailed(
      { ...pending, status: first },
      { message: "still none", at, isInfeasible: true },
    );
    expect(second.conditions).toEqual(first.conditions);
    expect(second.allocatedResourceStatuses).toEqual({ storage: "NodeResizeInfeasible" });
  });
});
