import type { ObservedPod } from "../../model/observed.ts";
import { type Pod, podFullName } from "../../model/pod.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";

export interface PodNamesDeps {
  readonly observed: Pick<ObservedPods, "isListed" | "all" | "unread">;
  /** Whether another pod of that full name has begun and not yet stopped: what it starts may not be seen yet. */
  readonly hasBegunOther: (fullName: string, uid: string) => boolean;
  /** Somebody waits for another pod to end: nobody may have asked it to yet. */
  readonly onWait: () => void;
}

interface Waiter {
  readonly pod: Pod;
  readonly freed: Promise<void>;
  readonly tell: () => void;
}

/**
 * Keeps pods apart that have one name: a manifest that was edited while no agent ran, or a pod that was forced out of
 * its cluster, leaves containers behind that must end before their successors start.
 */
export class PodNames {
  readonly #deps: PodNamesDeps;
  readonly #waiting = new Map<string, Waiter>();

  constructor(deps: PodNamesDeps) {
    this.#deps = deps;
  }

  isFree(pod: Pod): boolean {
    const { uid, name, namespace } = pod.metadata;
    if (!this.#deps.observed.isListed || this.#deps.hasBegunOther(podFullName(pod), uid))
      return false;
    // Of those only UID and name are known: they may run.
    for (const [otherUid, key] of this.#deps.observed.unread()) {
      if (otherUid !== uid && key === `${namespace}/${name}`) return false;
    }
    return [...this.#deps.observed.all()].every(
      (other) =>
        other.uid === uid ||
        other.name !== name ||
        other.namespace !== namespace ||
        !runsSomething(other),
    );
  }

  /** Resolves when no other pod of that name runs any more; undefined when none does. */
  whenFree(pod: Pod): Promise<void> | undefined {
    if (this.isFree(pod)) return undefined;
    const { uid } = pod.metadata;
    const known = this.#waiting.get(uid);
    if (known !== undefined) return known.freed;
    let tell = (): void => undefined;
    const freed = new Promise<void>((resolve) => {
      tell = resolve;
    });
    this.#waiting.set(uid, { pod, freed, tell });
    this.#deps.onWait();
    return freed;
  }

  /** What the runtime has, or what is being done to it, may have changed. */
  look(): void {
    for (const [uid, { pod, tell }] of this.#waiting) {
      if (!this.isFree(pod)) continue;
      this.#waiting.delete(uid);
      tell();
    }
  }
}

function runsSomething({ containers, sandboxes }: ObservedPod): boolean {
  return (
    containers.some(({ state }) => state === "running") ||
    sandboxes.some(({ state }) => state === "ready")
  );
}
