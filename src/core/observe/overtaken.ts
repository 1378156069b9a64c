import type { ObservedContainer } from "../../model/observed.ts";

/**
 * Whether the container was never started and has a successor. The runtime may carry out a call late, even one of
 * an agent that has died: what it creates then is the youngest, and yet not the newest.
 */
export function isOvertaken(
  { name, state, restartCount }: ObservedContainer,
  containers: readonly ObservedContainer[],
): boolean {
  if (state !== "created") return false;
  return containers.some((other) => other.name === name && other.restartCount > restartCount);
}
