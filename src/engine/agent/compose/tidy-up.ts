import { housekeep } from "../../loop/housekeeping.ts";
import { forgetPods } from "../../pods/forget-pods.ts";
import type { AgentParts } from "../agent-parts.ts";

/** Brings the agent's memory and the machine in line with what is wanted, and forgets pods of which nothing is left. */
export async function tidyUp(parts: AgentParts): Promise<void> {
  await housekeep({
    table: parts.table,
    registry: parts.registry,
    sources: parts.readiness,
    workers: parts.workers,
    admission: parts.admission,
    active: parts.active,
    statuses: parts.statuses,
    remains: parts.remains,
    faults: parts.faults,
    metrics: parts.ports.metrics,
  });
  await parts.allocations.writeAgain();
  if (!parts.readiness.areAllHeard) return;
  parts.cluster?.lookAtMirrors();
  parts.checkpoints.retry();
  forgetPods(parts);
}
