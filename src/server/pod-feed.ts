import type { PodUid } from "../model/ids.ts";
import type { Pod } from "../model/pod.ts";
import type { AgentView, PodChange } from "../ports/agent-view.ts";

interface VersionedChange extends PodChange {
  readonly version: number;
}

/** Changes that a client may have missed between its list and its watch. */
const historyLength = 1024;

/** Numbers the changes of pods, so that a watch continues exactly where a list ended. */
export class PodFeed {
  readonly #view: AgentView;
  readonly #listeners = new Set<(change: PodChange) => void>();
  readonly #podVersions = new Map<string, number>();
  readonly #firstVersion: number;
  #history: VersionedChange[] = [];
  #version: number;

  /** Versions start at the time, so that those of an earlier run are recognised as too old. */
  constructor(view: AgentView, nowMs: number, signal: AbortSignal) {
    this.#view = view;
    this.#version = nowMs;
    this.#firstVersion = nowMs;
    view.watchPods((change) => this.#record(change), signal);
  }

  get version(): string {
    return String(this.#version);
  }

  list(): readonly Pod[] {
    return this.#view.listPods().map((pod) => this.present(pod));
  }

  /** The pod as the API shows it: with kind and version. */
  present(pod: Pod): Pod {
    const version = this.#podVersions.get(pod.metadata.uid) ?? this.#firstVersion;
    return {
      ...pod,
      kind: "Pod",
      apiVersion: "v1",
      metadata: { ...pod.metadata, resourceVersion: String(version) },
    };
  }

  /** The changes after that version, oldest first; undefined when they are no longer known. */
  since(version: string): readonly PodChange[] | undefined {
    const wanted = Number(version);
    const oldest = this.#history[0]?.version ?? this.#version + 1;
    if (!Number.isSafeInteger(wanted) || wanted > this.#version || wanted < oldest - 1) {
      return undefined;
    }
    return this.#history.filter((change) => change.version > wanted);
  }

  /** The pod as it was at that version; undefined when that is no longer known, or the pod did not exist. */
  at(version: string, uid: PodUid): Pod | undefined {
    const wanted = Number(version);
    const last = this.#history.findLast(
      (change) => change.version <= wanted && change.pod.metadata.uid === uid,
    );
    return last?.type === "DELETED" ? undefined : last?.pod;
  }

  subscribe(listener: (change: PodChange) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  #record({ type, pod }: PodChange): void {
    this.#version++;
    this.#podVersions.set(pod.metadata.uid, this.#version);
    const change = { type, pod: this.present(pod), version: this.#version };
    if (type === "DELETED") this.#podVersions.delete(pod.metadata.uid);
    this.#history.push(change);
    if (this.#history.length > 2 * historyLength)
      this.#history = this.#history.slice(-historyLength);
    for (const listener of this.#listeners) listener(change);
  }
}
