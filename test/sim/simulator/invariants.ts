import type { SimContainer } from "../../../src/drivers/sim/sim-container.ts";
import type { SimRuntime } from "../../../src/drivers/sim/sim-runtime.ts";
import { ContainerState } from "../../../src/model/generated/cri.ts";
import type { ContainerStatus } from "../../../src/model/generated/kubernetes.ts";
import {
  containerNameLabel,
  podNameLabel,
  podNamespaceLabel,
  podUidLabel,
} from "../../../src/model/labels.ts";
import { isSidecar, type Pod } from "../../../src/model/pod.ts";
import type { RuntimeEvent } from "../../../src/ports/runtime-events.ts";

/** A promise of the agent's design that did not hold. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Holds the agent to its promises at every step of a run. */
export class Invariants {
  readonly #runtime: SimRuntime;
  /** Every pod that was ever wanted, by UID. */
  readonly #pods = new Map<string, Pod>();
  readonly #terminal = new Set<string>();
  readonly #restarts = new Map<string, number>();
  readonly #generations = new Map<string, number>();
  /** By sandbox: containers that were started there, and those that ended well. */
  readonly #started = new Map<string, Set<string>>();
  readonly #succeeded = new Map<string, Set<string>>();

  constructor(runtime: SimRuntime) {
    this.#runtime = runtime;
  }

  notePod(pod: Pod): void {
    this.#pods.set(pod.metadata.uid, pod);
  }

  noteEvent({ containerId, kind }: RuntimeEvent): void {
    const container = this.#runtime.containers.find(({ place }) => place.id === containerId);
    if (container === undefined) return;
    if (kind === "started") this.#checkStart(container);
    if (kind === "stopped" && container.status().exitCode === 0) {
      noteIn(this.#succeeded, container.place.sandboxId, label(container, containerNameLabel));
    }
  }

  /** What the agent shows of a pod. */
  noteStatus({ metadata, status = {} }: Pod): void {
    const { uid } = metadata;
    const { phase, observedGeneration = 0 } = status;
    if (phase === "Succeeded" || phase === "Failed") {
      this.#terminal.add(uid);
      const running = this.runningOf(uid);
      if (running.length > 0) throw new Violation(`${phase} while ${names(running)} runs: ${uid}`);
    } else if (this.#terminal.has(uid)) {
      throw new Violation(`a terminal pod became ${phase}: ${uid}`);
    }
    const generation = this.#generations.get(uid) ?? 0;
    if (observedGeneration < generation) {
      throw new Violation(`observedGeneration fell from ${generation} to ${observedGeneration}`);
    }
    this.#generations.set(uid, observedGeneration);
    for (const each of containerStatuses(status)) this.#checkRestarts(uid, each);
  }

  runningOf(uid: string): readonly SimContainer[] {
    return this.running.filter((container) => label(container, podUidLabel) === uid);
  }

  get running(): readonly SimContainer[] {
    return this.#runtime.containers.filter(
      ({ state }) => state === ContainerState.CONTAINER_RUNNING,
    );
  }

  #checkStart(container: SimContainer): void {
    const uid = label(container, podUidLabel);
    const name = label(container, containerNameLabel);
    if (this.#terminal.has(uid)) throw new Violation(`started ${name} of the terminal pod ${uid}`);
    for (const other of this.running) {
      if (other === container) continue;
      const isSamePod = label(other, podUidLabel) === uid;
      if (isSamePod && label(other, containerNameLabel) === name) {
        throw new Violation(`two instances of ${name} of ${uid} run`);
      }
      if (!isSamePod && fullName(other) === fullName(container)) {
        throw new Violation(`two pods run as ${fullName(container)}`);
      }
    }
    this.#checkOrder(container, uid, name);
    noteIn(this.#started, container.place.sandboxId, name);
  }

  #checkOrder({ place }: SimContainer, uid: string, name: string): void {
    const { initContainers = [] } = this.#pods.get(uid)?.spec ?? {};
    const own = initContainers.findIndex((init) => init.name === name);
    const before = own === -1 ? initContainers : initContainers.slice(0, own);
    for (const init of before) {
      const list = isSidecar(init) ? this.#started : this.#succeeded;
      if (list.get(place.sandboxId)?.has(init.name) === true) continue;
      throw new Violation(`${name} of ${uid} started before ${init.name} was done`);
    }
  }

  #checkRestarts(uid: string, { name, restartCount }: ContainerStatus): void {
    const key = `${uid} ${name}`;
    const before = this.#restarts.get(key) ?? 0;
    if (restartCount < before) {
      throw new Violation(`restartCount of ${key} fell from ${before} to ${restartCount}`);
    }
    this.#restarts.set(key, restartCount);
  }
}

export function label({ config }: SimContainer, name: string): string {
  return config.labels?.[name] ?? "";
}

export function containerStatuses(status: NonNullable<Pod["status"]>): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

function fullName(container: SimContainer): string {
  return `${label(container, podNamespaceLabel)}/${label(container, podNameLabel)}`;
}

function names(containers: readonly SimContainer[]): string {
  return containers.map((container) => label(container, containerNameLabel)).join(", ");
}

function noteIn(lists: Map<string, Set<string>>, key: string, name: string): void {
  lists.set(key, (lists.get(key) ?? new Set()).add(name));
}
