import type { SimContainer } from "../../../src/drivers/sim/sim-container.ts";
import type { SimRuntime } from "../../../src/drivers/sim/sim-runtime.ts";
import { ContainerState } from "../../../src/model/generated/cri.ts";
import {
  containerNameLabel,
  podNameLabel,
  podNamespaceLabel,
  podUidLabel,
} from "../../../src/model/labels.ts";
import { isSidecar, type Pod } from "../../../src/model/pod.ts";
import type { RuntimeEvent } from "../../../src/ports/runtime-events.ts";
import { StatusHistory } from "./status-history.ts";
import { Violation } from "./violation.ts";

/** Holds the agent to its promises at every step of a run: what runs, and in which order. */
export class Invariants {
  readonly #runtime: SimRuntime;
  /** Every pod that was ever wanted, by UID. */
  readonly #pods = new Map<string, Pod>();
  /** By sandbox: containers that were started there, and those that ended well. */
  readonly #started = new Map<string, Set<string>>();
  readonly #succeeded = new Map<string, Set<string>>();
  /** What the agent shows of its pods. */
  readonly shown: StatusHistory;
  /** Containers that an agent asked to remove before they were started: a call of an agent that has died may still start them. */
  readonly #removedUnstarted = new Set<string>();
  /** Pods that nothing was done to: whatever becomes of others, they run on. */
  readonly healthy: Set<string> = new Set<string>();

  constructor(runtime: SimRuntime) {
    this.#runtime = runtime;
    this.shown = new StatusHistory("the agent", ({ metadata }) => this.namesOf(metadata.uid));
  }

  notePod(pod: Pod): void {
    this.#pods.set(pod.metadata.uid, pod);
  }

  /** Whether the pod was ever wanted. */
  knows(uid: string): boolean {
    return this.#pods.has(uid);
  }

  podWith(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  podOf(container: SimContainer): Pod | undefined {
    return this.podWith(label(container, podUidLabel));
  }

  find(containerId: string): SimContainer | undefined {
    return this.#runtime.containerById(containerId);
  }

  /** An agent asks the runtime to remove the container. */
  noteRemoval(containerId: string): void {
    const isCreated = this.find(containerId)?.state === ContainerState.CONTAINER_CREATED;
    if (isCreated) this.#removedUnstarted.add(containerId);
  }

  noteEvent({ containerId, kind }: RuntimeEvent): void {
    const container = this.find(containerId);
    if (container === undefined) return;
    if (kind === "started") this.#checkStart(container);
    if (kind !== "stopped") return;
    const isHealthy = this.healthy.has(label(container, podUidLabel));
    if (isHealthy && !this.#removedUnstarted.has(containerId)) {
      throw new Violation("a healthy pod was touched");
    }
    if (container.status().exitCode === 0) {
      noteIn(this.#succeeded, container.place.sandboxId, label(container, containerNameLabel));
    }
  }

  runningOf(uid: string): readonly SimContainer[] {
    return this.running.filter((container) => label(container, podUidLabel) === uid);
  }

  namesOf(uid: string): readonly string[] {
    return this.runningOf(uid).map((container) => label(container, containerNameLabel));
  }

  get running(): readonly SimContainer[] {
    return this.#runtime.containers.filter(
      ({ state }) => state === ContainerState.CONTAINER_RUNNING,
    );
  }

  #checkStart(container: SimContainer): void {
    const uid = label(container, podUidLabel);
    const name = label(container, containerNameLabel);
    if (this.shown.isTerminal(uid)) throw new Violation(`${name} of a terminal pod started`);
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
    const { initContainers = [], ephemeralContainers = [] } = this.#pods.get(uid)?.spec ?? {};
    if (ephemeralContainers.some((container) => container.name === name)) return;
    const own = initContainers.findIndex((init) => init.name === name);
    const before = own === -1 ? initContainers : initContainers.slice(0, own);
    for (const init of before) {
      const list = isSidecar(init) ? this.#started : this.#succeeded;
      if (list.get(place.sandboxId)?.has(init.name) === true) continue;
      throw new Violation(`${name} of ${uid} started before ${init.name} was done`);
    }
  }
}

export function label({ config }: SimContainer, name: string): string {
  return config.labels?.[name] ?? "";
}

function fullName(container: SimContainer): string {
  return `${label(container, podNamespaceLabel)}/${label(container, podNameLabel)}`;
}

function noteIn(lists: Map<string, Set<string>>, key: string, name: string): void {
  lists.set(key, (lists.get(key) ?? new Set()).add(name));
}
