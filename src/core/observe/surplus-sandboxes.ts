import type { ObservedPod, ObservedSandbox } from "../../model/observed.ts";

/**
 * Sandboxes that a call made which was given up long ago, beside the one that the pod runs in. With two that are ready a
 * pod would be started anew as a whole; without the empty ones nothing of it has to be touched.
 */
export function surplusSandboxes({ sandboxes, containers }: ObservedPod): ObservedSandbox[] {
  const ready = sandboxes.filter(({ state }) => state === "ready");
  if (ready.length < 2) return [];
  const isUsed = ({ id }: ObservedSandbox): boolean =>
    containers.some(({ sandboxId, state }) => sandboxId === id && state !== "exited");
  const used = ready.filter(isUsed);
  return used.length === 1 ? ready.filter((sandbox) => !used.includes(sandbox)) : [];
}
