import { errorText } from "../../lib/error-text.ts";
import { isNotFound } from "../../model/runtime-error.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import { rawContainerId } from "../execute/container-id.ts";
import { removeContainer } from "../execute/remove-container.ts";
import type { ObservedPods } from "../observe/observed-pods.ts";
import { type PodStage, removeStages } from "./pod-stage.ts";

const lookEveryMs = 10_000;

export interface PodRemainsDeps {
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly stages: readonly PodStage[];
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
  readonly lifetime: AbortSignal;
  readonly observed: Pick<ObservedPods, "all" | "find" | "getNewerThan">;
  /** Of how many pods a round began to remove what is left, and with how many that failed since the round before. */
  readonly onSwept: (pods: number, failures: number) => void;
  /** Last of all, and only when nothing is left. */
  readonly onGone: (uid: string) => void;
}

/** Removes what pods leave that nobody wants any more: containers, sandboxes, mounts, folders, logs, cgroups. */
export class PodRemains {
  readonly #deps: PodRemainsDeps;
  readonly #removing = new Map<string, Promise<void>>();
  /** UIDs of all pods of which there may be something. */
  readonly #mayBeLeft = new Set<string>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(deps: PodRemainsDeps) {
    this.#deps = deps;
  }

  isRemoving(uid: string): boolean {
    return this.#removing.has(uid);
  }

  /** Resolves when the removal that is under way has ended; undefined when there is none. */
  whenRemoved(uid: string): Promise<void> | undefined {
    return this.#removing.get(uid);
  }

  /** Starts the removal of everything of other pods; one pod that cannot be removed holds up no other. */
  async removeAllBut(kept: ReadonlySet<string>): Promise<void> {
    await this.#lookForOthers();
    for (const uid of kept) this.#mayBeLeft.add(uid);
    for (const { uid } of this.#deps.observed.all()) this.#mayBeLeft.add(uid);
    let begun = 0;
    for (const uid of this.#mayBeLeft) {
      if (kept.has(uid) || this.#removing.has(uid)) continue;
      begun++;
      const removal = this.#remove(uid)
        .catch((error: unknown) => {
          if (this.#deps.lifetime.aborted) return;
          this.#failures++;
          this.#deps.log.warn("cannot remove what a pod left, trying again", {
            podUid: uid,
            error: errorText(error),
          });
        })
        .finally(() => this.#removing.delete(uid));
      this.#removing.set(uid, removal);
    }
    this.#deps.onSwept(begun, this.#failures);
    this.#failures = 0;
  }

  // What an agent before this one left, or somebody else: seldom, for no pod of this agent's goes unknown.
  async #lookForOthers(): Promise<void> {
    const { clock, stages } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lookedAtMs < lookEveryMs) return;
    for (const stage of stages) {
      for (const uid of (await stage.listFound?.()) ?? []) this.#mayBeLeft.add(uid);
    }
    this.#lookedAtMs = nowMs;
  }

  async #remove(uid: string): Promise<void> {
    const { runtime, stages, clock, lifetime } = this.#deps;
    const observed = this.#deps.observed.find(uid);
    for (const { id } of observed?.containers ?? []) {
      await unlessGone(() =>
        removeContainer(this.#deps, rawContainerId(id), { keepLogs: false }, lifetime),
      );
    }
    for (const { id } of observed?.sandboxes ?? []) {
      await unlessGone(() => runtime.stopPodSandbox(id, lifetime));
      await unlessGone(() => runtime.removePodSandbox(id, lifetime));
    }
    await removeStages(stages, uid, lifetime);
    // Until it was seen to be gone, the next round would find it again.
    if (observed !== undefined) {
      await this.#deps.observed.getNewerThan(uid, clock.monotonicMs(), lifetime);
    }
    this.#mayBeLeft.delete(uid);
    this.#deps.onGone(uid);
  }
}

async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
