import type { PodStatus } from "../../model/generated/kubernetes.ts";
import { isTerminalPhase } from "./phase.ts";

/** A pod that must end has not ended while something of it runs: it is shown as it was until then. */
export function withoutEarlyEnd(status: PodStatus): PodStatus {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const { ephemeralContainerStatuses = [] } = status;
  const runs = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].some(
    ({ state }) => state?.running !== undefined,
  );
  if (!isTerminalPhase(status.phase) || !runs) return status;
  const hasBegun = containerStatuses.some(
    ({ state, lastState }) => state?.waiting === undefined || lastState?.terminated !== undefined,
  );
  return { ...status, phase: hasBegun ? "Running" : "Pending" };
}
