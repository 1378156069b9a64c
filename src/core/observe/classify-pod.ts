import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../model/observed.ts";

/**
 * The role of a sandbox or a container in its pod. Current: the newest one, which counts. Superseded: an earlier one, whose
 * place the current one took. Leftover: made by a CRI call that timed out and completed later; the pod runs without it,
 * and neither its status nor its plan depends on it.
 */
export type Standing = "current" | "superseded" | "leftover";

/** Why a leftover has to go. */
export const leftoverBecause =
  "it is the leftover of a CRI call that timed out and completed later, and the pod runs without it";

// A pod's status, its plan and its executors ask in turn of one observation, which is never changed.
const classified = new WeakMap<ObservedPod, ReadonlyMap<string, Standing>>();

/** By id. The pod's lists have the newest first. */
export function standingsOf(observed: ObservedPod): ReadonlyMap<string, Standing> {
  const known = classified.get(observed);
  if (known !== undefined) return known;
  const standings = classify(observed);
  classified.set(observed, standings);
  return standings;
}

function classify({ sandboxes, containers }: ObservedPod): ReadonlyMap<string, Standing> {
  const standings = new Map<string, Standing>();
  const leftovers = leftoverSandboxIds(sandboxes, containers);
  let hasCurrent = false;
  for (const { id } of sandboxes) {
    if (leftovers.has(id)) {
      standings.set(id, "leftover");
    } else {
      standings.set(id, hasCurrent ? "superseded" : "current");
      hasCurrent = true;
    }
  }
  const named = new Set<string>();
  for (const container of containers) {
    if (isOvertaken(container, containers)) {
      standings.set(container.id, "leftover");
    } else {
      standings.set(container.id, named.has(container.name) ? "superseded" : "current");
      named.add(container.name);
    }
  }
  return standings;
}

/** The pod as its status and its plan see it. */
export function withoutLeftovers(observed: ObservedPod): ObservedPod {
  const standings = standingsOf(observed);
  if (![...standings.values()].includes("leftover")) return observed;
  const isKnown = ({ id }: { readonly id: string }): boolean => standings.get(id) !== "leftover";
  return {
    ...observed,
    sandboxes: observed.sandboxes.filter(isKnown),
    containers: observed.containers.filter(isKnown),
  };
}

/** The leftovers of the pod alone. */
export function leftoversOf(observed: ObservedPod): Pick<ObservedPod, "sandboxes" | "containers"> {
  const standings = standingsOf(observed);
  const isLeftover = ({ id }: { readonly id: string }): boolean => standings.get(id) === "leftover";
  return {
    sandboxes: observed.sandboxes.filter(isLeftover),
    containers: observed.containers.filter(isLeftover),
  };
}

/** The same in the order given, but leftovers last, so that the first one is not a leftover where there is another. */
export function leftoversLast(
  sandboxes: readonly ObservedSandbox[],
  containers: readonly ObservedContainer[],
): Pick<ObservedPod, "sandboxes" | "containers"> {
  const leftovers = leftoverSandboxIds(sandboxes, containers);
  const rank = (isLeftover: boolean): number => (isLeftover ? 1 : 0);
  return {
    sandboxes: sandboxes.toSorted((a, b) => rank(leftovers.has(a.id)) - rank(leftovers.has(b.id))),
    containers: containers.toSorted(
      (a, b) => rank(isOvertaken(a, containers)) - rank(isOvertaken(b, containers)),
    ),
  };
}

/**
 * Sandboxes that are ready and in which nothing runs or could, beside the only one that the pod uses: with two that are
 * ready a pod would start over as a whole. The same where the newest one has ended: the pod starts over in another one
 * whether or not this one can be stopped. And empty ones that have ended, though they are newer than the one in use.
 */
function leftoverSandboxIds(
  sandboxes: readonly ObservedSandbox[],
  containers: readonly ObservedContainer[],
): ReadonlySet<string> {
  const isEmpty = ({ id }: ObservedSandbox): boolean =>
    containers.every(({ sandboxId }) => sandboxId !== id);
  const isDone = ({ id }: ObservedSandbox): boolean =>
    containers.every(({ sandboxId, state }) => sandboxId !== id || state === "exited");
  const ready = sandboxes.filter(({ state }) => state === "ready");
  const unused = ready.filter(isDone);
  // While all its containers wait to start again, a pod uses the sandbox that has them.
  const inUse = ready.filter((sandbox) =>
    unused.length < ready.length ? !isDone(sandbox) : !isEmpty(sandbox),
  );
  const [used] = inUse;
  if (used !== undefined && inUse.length === 1) {
    const newer = sandboxes.slice(0, sandboxes.indexOf(used)).filter(isEmpty);
    return new Set([...unused.filter((one) => one !== used), ...newer].map(({ id }) => id));
  }
  return new Set(sandboxes[0]?.state === "notReady" ? unused.map(({ id }) => id) : []);
}

/**
 * Whether the container was never started and another instance has taken its place. The runtime may carry out a call
 * late, even one of an agent that has died: what it creates then is the youngest, and yet not the newest. No
 * agent creates an instance beside one that runs.
 */
function isOvertaken(
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
