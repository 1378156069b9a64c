import type { SimMachine } from "../../../src/app/sim-agent.ts";
import { podUidLabel } from "../../../src/model/labels.ts";
import { type Invariants, label } from "./invariants.ts";
import { Violation } from "./violation.ts";

const podsFolder = "/sim/pods/";
const cgroupsFolder = "/kubepods";
/** The folder of all logs of a pod; those of its containers that have ended may go while others run. */
const podLogs = /^\/sim-logs\/[^/]+$/;

type Machine = Pick<SimMachine, "files" | "mounts" | "cgroups" | "runtime">;

/**
 * What the containers of a pod stand on is there when they start, and is not removed while they run: above all not by
 * the removal of what a former life of the pod left.
 */
export class RemovalRules {
  readonly #invariants: Invariants;
  readonly #machine: Machine;
  /** Sandboxes and containers that an agent started and knows of; not those of calls that were carried out too late. */
  readonly #known = new Set<string>();

  constructor(invariants: Invariants, machine: Machine) {
    this.#invariants = invariants;
    this.#machine = machine;
  }

  /** Whether an agent started the sandbox or container and learned so. */
  isKnown(id: string): boolean {
    return this.#known.has(id);
  }

  /** A sandbox or a container was started by a call whose caller still waits for it. */
  noteStart(containerId: string): void {
    this.#known.add(containerId);
    const container = this.#invariants.find(containerId);
    if (container === undefined) return;
    const { files, mounts, cgroups, runtime } = this.#machine;
    const folder = `${podsFolder}${label(container, podUidLabel)}`;
    const paths = (container.config.mounts ?? []).map(({ hostPath = "" }) => hostPath);
    const own = [folder, ...paths.filter((path) => path.startsWith(`${folder}/`))];
    const missing = own.find((path) => !files.has(path) && mounts.sourceOf(path) === undefined);
    if (missing !== undefined) this.#fail(containerId, `started without ${missing}`);
    const sandbox = runtime.sandboxes.find(({ id }) => id === container.place.sandboxId);
    const cgroup = sandbox?.config.linux?.cgroupParent;
    if (cgroup !== undefined && !cgroups.exists(cgroup)) {
      this.#fail(containerId, `started without the cgroup ${cgroup}`);
    }
  }

  /** The agent is about to remove something of the pod. */
  noteRemoval(uid: string, method: string, path: unknown): void {
    if (typeof path !== "string") return;
    const isNeeded = path.startsWith(podsFolder) || path.startsWith(cgroupsFolder);
    if (!isNeeded && !podLogs.test(path)) return;
    const sandboxes = this.#machine.runtime.sandboxes.filter(
      ({ config, isReady }) => isReady && config.metadata?.uid === uid,
    );
    const containers = this.#invariants.runningOf(uid).map(({ place }) => place);
    for (const { id } of [...containers, ...sandboxes]) {
      if (this.#known.has(id)) this.#fail(id, `runs at ${method} ${path}`);
    }
  }

  #fail(containerId: string, what: string): never {
    throw new Violation(`the sandbox or container ${containerId.replace(/0+$/, "")} ${what}`);
  }
}
