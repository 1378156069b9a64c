import { type KnownPods, mergeSource, type SourceSet } from "../../core/source/merge-source.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import type { PodSourceName } from "../../model/pod-source.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvents } from "../../ports/pod-events.ts";
import type { PodSource, SourceProblem, SourceSnapshot } from "../../ports/pod-source.ts";
import type { Faults } from "../agent/faults.ts";
import type { SyncLoop } from "../loop/sync-loop.ts";
import type { PodMemory } from "../pods/pod-memory.ts";
import type { StorageManager } from "../volumes/storage-manager.ts";
import type { LocalObjects } from "./local-objects.ts";

export interface SourceIntakeDeps {
  readonly sources: readonly PodSource[];
  /** Takes what lies beside the pods. */
  readonly localObjects: LocalObjects;
  readonly memory: Pick<PodMemory, "restore">;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: PodEvents;
  readonly faults: Pick<Faults, "attempt">;
  readonly loop: Pick<SyncLoop, "deliver" | "requestSyncAll">;
  readonly storage: Pick<StorageManager, "retryPods">;
}

/** Takes what the sources deliver: pods go on as changes, objects are kept, problems are shown. */
export class SourceIntake {
  readonly #deps: SourceIntakeDeps;
  readonly #config: PodConfig;
  readonly #problems = new Map<PodSourceName, readonly SourceProblem[]>();
  readonly #snapshots = new Map<PodSourceName, SourceSnapshot>();

  constructor(deps: SourceIntakeDeps) {
    this.#deps = deps;
    const { clock, events, loop } = deps;
    this.#config = new PodConfig({ clock, events, sink: loop });
  }

  get problems(): readonly SourceProblem[] {
    return [...this.#problems.values()].flat();
  }

  get ignoredFiles(): readonly string[] {
    return [...this.#snapshots.values()].flatMap(({ ignored }) => ignored);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#deps.sources.map((source) =>
        source.run(
          {
            deliver: (snapshot) => this.#take(source.name, snapshot),
            report: (problems) => this.#noteProblems(source.name, problems),
          },
          signal,
        ),
      ),
    );
  }

  #take(source: PodSourceName, snapshot: SourceSnapshot): void {
    const unknownBefore = this.#snapshots.get(source)?.unknownFields ?? [];
    this.#snapshots.set(source, snapshot);
    const unsafe = snapshot.pods.filter((pod) => !hasSafeUid(pod)).map(uidProblem);
    this.#noteProblems(source, [...snapshot.problems, ...unsafe]);
    this.#logNew("unknown field in a manifest", snapshot.unknownFields ?? [], unknownBefore);
    const pods = snapshot.pods.filter(hasSafeUid);
    const objectsChanged = this.#deps.localObjects.set(source, { ...snapshot, pods });
    this.#setPods(source, snapshot);
    if (!objectsChanged) return;
    // Pods may wait for them or show them.
    this.#deps.storage.retryPods();
    this.#deps.loop.requestSyncAll();
  }

  /** What this node knows of pods has changed, not what the sources want. */
  restoreAgain(): void {
    for (const [source, snapshot] of this.#snapshots) this.#setPods(source, snapshot);
  }

  #setPods(source: PodSourceName, { pods }: SourceSnapshot): void {
    const safe = pods.filter(hasSafeUid);
    const { memory, faults } = this.#deps;
    const restored = safe.map(
      (pod) => faults.attempt("intake", pod.metadata.uid, () => memory.restore(pod, source)) ?? pod,
    );
    this.#config.set({ source, pods: restored });
  }

  #noteProblems(source: PodSourceName, problems: readonly SourceProblem[]): void {
    const before = this.#problems.get(source) ?? [];
    this.#problems.set(source, problems);
    this.#logNew("bad manifest", problems, before);
  }

  /** A source delivers all of its problems with every change: those that it had before are in the log. */
  #logNew(
    message: string,
    problems: readonly SourceProblem[],
    before: readonly SourceProblem[],
  ): void {
    const logged = new Set(before.map((problem) => JSON.stringify(problem)));
    for (const problem of problems) {
      if (!logged.has(JSON.stringify(problem))) this.#deps.log.warn(message, { ...problem });
    }
  }
}

/** A pod's UID names its folders: it must stay one name in one folder. */
const safeUid = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

function hasSafeUid({ metadata }: Pod): boolean {
  return safeUid.test(metadata.uid);
}

function uidProblem(pod: Pod): SourceProblem {
  return {
    origin: podKey(pod),
    field: "metadata.uid",
    message: `"${pod.metadata.uid}" cannot name a folder: use letters, digits, "-", "_" and "."`,
  };
}

interface PodConfigDeps {
  readonly clock: Clock;
  readonly events: PodEvents;
  readonly sink: Pick<SyncLoop, "deliver">;
}

/** What every source wants, and the stream of changes that follows from it. */
export class PodConfig {
  readonly #deps: PodConfigDeps;
  /**
   * What each source last delivered. Not in the table: that has what was taken in, which may lag behind while the runtime is
   * away, and one UID may be in two sources at once.
   */
  readonly #known = new Map<PodSourceName, KnownPods>();

  constructor(deps: PodConfigDeps) {
    this.#deps = deps;
  }

  /** Takes a source's complete set. */
  set(set: SourceSet): void {
    const { clock, events, sink } = this.#deps;
    const { pods, delivered, updates, rejected } = mergeSource(
      this.#known.get(set.source),
      set,
      clock.nowMs(),
    );
    this.#known.set(set.source, { pods, delivered });
    for (const { pod, message } of rejected) {
      events.record(pod, { type: "Warning", reason: "FailedValidation", message });
    }
    for (const update of updates) sink.deliver(update);
  }
}
