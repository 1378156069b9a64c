import type { ImageManagerDeps } from "../../src/engine/images/image-manager.ts";
import { PodStartMetrics } from "../../src/engine/pods/pod-start-metrics.ts";
import { PodTable } from "../../src/engine/pods/pod-table.ts";
import { PodChanges } from "../../src/engine/view/pod-changes.ts";
import { loudFaults } from "./loud-faults.ts";
import { noMetrics } from "./no-metrics.ts";

// Small parts of the engine that others are constructed with.

const clock = { nowMs: () => 0 };

export function testPodChanges(table: PodTable): PodChanges {
  return new PodChanges({ table, clock, faults: loudFaults });
}

/** What an image manager shows its pulls with. */
export function testImagePods(
  table: PodTable = new PodTable(),
): Pick<ImageManagerDeps, "table" | "changes" | "starts"> {
  return {
    table,
    changes: testPodChanges(table),
    starts: new PodStartMetrics(table, noMetrics, clock),
  };
}
