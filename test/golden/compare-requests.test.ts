import { describe, expect, test } from "vitest";
import type { ApiTraceRequest } from "./api-trace.ts";
import { compareRequests } from "./compare-requests.ts";
import { KnownNames } from "./known-names.ts";
import { type PodRequests, podRequests } from "./pod-requests.ts";
import { recordedFolders } from "./recorded-node.ts";
import type { Json } from "./recording.ts";

const PATCH = "application/strategic-merge-patch+json";
const uid = "b061fc95-59e2-44b5-872e-51473977538b";

function patch(atSeconds: number, status: Json, body: Json = { metadata: { uid }, status }) {
  const path = "/api/v1/namespaces/n/pods/p/status";
  return { atSeconds, method: "PATCH", path, query: {}, patchType: PATCH, body, status: 200 };
}

function phases(...steps: readonly (readonly [number, string])[]): readonly ApiTraceRequest[] {
  return steps.map(([atSeconds, phase]) => ({ ...patch(atSeconds, { phase }), watch: false }));
}

function requestsOf(requests: readonly ApiTraceRequest[]): PodRequests {
  const names = new KnownNames([], recordedFolders);
  const found = podRequests(requests, "n", new Map([["p", { phase: "Pending" }]]), names).get("p");
  if (found === undefined) throw new Error("there is nothing of the pod");
  return found;
}

function compare(recorded: readonly ApiTraceRequest[], berth: readonly ApiTraceRequest[]) {
  return compareRequests(requestsOf(recorded), requestsOf(berth)).map(({ path }) => path);
}

describe("what two nodes said of a pod", () => {
  const recorded = phases([1, "Running"], [2, "Failed"]);

  test("is the same when one folded what did not last", () => {
    expect(compare(recorded, phases([5, "Failed"]))).toEqual([]);
    expect(compare(phases([5, "Failed"]), recorded)).toEqual([]);
  });

  test("differs when one left out what lasted", () => {
    expect(compare(phases([1, "Running"], [20, "Failed"]), phases([5, "Failed"]))).toEqual([
      'status.phase ("Running")',
    ]);
  });

  test("differs when the end differs", () => {
    expect(compare(recorded, phases([1, "Running"], [2, "Succeeded"]))).toEqual([
      'status.phase ("Failed")',
      'status.phase ("Succeeded")',
    ]);
  });

  test("differs when the same change is sent in another form", () => {
    const other = patch(1, {}, { metadata: { uid, name: "p" }, status: { phase: "Running" } });
    expect(compare(phases([1, "Running"]), [{ ...other, watch: false }])).toEqual([
      "patch 0.metadata.name",
    ]);
  });

  test("differs when a change touches more than the status", () => {
    const body = { metadata: { uid }, spec: {}, status: { phase: "Failed" } };
    const other = { ...patch(1, {}, body), watch: false };
    expect(compare(phases([1, "Running"], [2, "Failed"]), [other])).toEqual([
      "patch 0 fields[1]",
      "patch 0 fields[2]",
    ]);
  });
});
