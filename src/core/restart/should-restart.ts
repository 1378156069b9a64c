import { assertNever } from "../../lib/assert.ts";
import { findObserved, type ObservedPod } from "../../model/observed.ts";
import type { AnyContainer, Pod } from "../../model/pod.ts";
import { decideRestart } from "./restart-policy.ts";

/** Whether a container that is not running has to be started, for the first time or again. */
export function shouldRestartContainer(
  container: AnyContainer,
  pod: Pod,
  observed: ObservedPod,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const seen = findObserved(observed, container.name);
  if (seen === undefined) return true;
  switch (seen.state) {
    case "running":
      return false;
    case "created":
    case "unknown":
      return true;
    case "exited":
      return decideRestart(container, pod, seen.exitCode).restart;
    default:
      return assertNever(seen.state);
  }
}
