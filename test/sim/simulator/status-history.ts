import type { ContainerStatus } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { Violation } from "./violation.ts";

/** Checks the statuses that one observer sees against what statuses promise. */
export class StatusHistory {
  readonly #where: string;
  readonly #runningOf: (pod: Pod) => readonly string[];
  readonly #terminal = new Set<string>();
  readonly #restarts = new Map<string, number>();
  readonly #generations = new Map<string, number>();
  readonly #reborn = new Set<string>();

  /** `runningOf` answers the names of the pod's containers that run now. */
  constructor(where: string, runningOf: (pod: Pod) => readonly string[]) {
    this.#where = where;
    this.#runningOf = runningOf;
  }

  /** The pod was taken away and came back as the same: its lives cannot be distinguished. */
  noteReborn(uid: string): void {
    this.#reborn.add(uid);
    this.#terminal.delete(uid);
  }

  isReborn(uid: string): boolean {
    return this.#reborn.has(uid);
  }

  /** The pod is gone: one that comes as the same has a life of its own. */
  forget(uid: string): void {
    this.#terminal.delete(uid);
    this.#generations.delete(uid);
    for (const key of this.#restarts.keys()) {
      if (key.startsWith(`${uid} `)) this.#restarts.delete(key);
    }
  }

  /** The next reporter may not know what was reported before. */
  forgetAll(): void {
    this.#terminal.clear();
    this.#generations.clear();
    this.#restarts.clear();
  }

  isTerminal(uid: string): boolean {
    return this.#terminal.has(uid);
  }

  note(pod: Pod): void {
    if (this.#reborn.has(pod.metadata.uid)) return;
    const { uid, name } = pod.metadata;
    const { phase, observedGeneration = 0 } = pod.status ?? {};
    if (phase === "Succeeded" || phase === "Failed") {
      this.#terminal.add(uid);
      const running = this.#runningOf(pod);
      if (running.length > 0) this.#fail(`${name} is ${phase} while ${running.join(", ")} runs`);
    } else if (this.#terminal.has(uid)) {
      this.#fail(`${name} was terminal and became ${phase}`);
    }
    const generation = this.#generations.get(uid) ?? 0;
    if (observedGeneration < generation) {
      this.#fail(`observedGeneration of ${name} fell from ${generation} to ${observedGeneration}`);
    }
    this.#generations.set(uid, observedGeneration);
    for (const each of containerStatuses(pod)) this.#noteRestarts(uid, each);
  }

  #noteRestarts(uid: string, { name, restartCount }: ContainerStatus): void {
    const key = `${uid} ${name}`;
    const before = this.#restarts.get(key) ?? 0;
    if (restartCount < before) {
      this.#fail(`restartCount of ${key} fell from ${before} to ${restartCount}`);
    }
    this.#restarts.set(key, restartCount);
  }

  #fail(message: string): never {
    throw new Violation(`${this.#where}: ${message}`);
  }
}

export function containerStatuses({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}
