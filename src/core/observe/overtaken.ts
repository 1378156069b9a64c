import type { ObservedContainer } from "../../model/observed.ts";

/**
 * Whether the container was never started and another instance has taken its place. The runtime may carry out a call
 * late, even one of an agent that has died: what it creates then is the youngest, and yet not the newest. Nobody
 * creates an instance beside one that runs.
 */
export function isOvertaken(
  { id, name, state, restartCount }: ObservedContainer,
  containers: readonly ObservedContainer[],
): boolean {
  if (state !== "created") return false;
  return containers.some(
    (other) =>
      other.id !== id &&
      other.name === name &&
      (other.state === "running" || other.restartCount > restartCount),
  );
}
