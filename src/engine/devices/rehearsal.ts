import { describeHoldings } from "../../core/devices/describe-holdings.ts";
import type { DeviceManager } from "../../core/devices/plugin/device-manager.ts";
import type { ResourceManagers } from "../../core/devices/pod-resources.ts";
import type { AdmissionFailure } from "../../core/devices/topology/allocation-error.ts";
import {
  type HintProvider,
  TopologyManager,
} from "../../core/devices/topology/topology-manager.ts";
import type { TopologyPolicy } from "../../core/devices/topology/topology-policy.ts";
import type { Holding } from "../../model/holding.ts";
import type { PodUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";

/** What pods would get for themselves: the managers as they are now, of which nothing is kept. */
export class Rehearsal {
  readonly #managers: ResourceManagers;
  readonly #topology: TopologyManager;

  constructor(
    { cpus, memory, dra }: ResourceManagers,
    policy: TopologyPolicy,
    devices: { readonly manager: DeviceManager; readonly provider: HintProvider },
  ) {
    const copies = { cpus: cpus.copy(), memory: memory.copy() };
    this.#managers = { ...copies, dra, devices: devices.manager };
    this.#topology = new TopologyManager(policy, [devices.provider, copies.cpus, copies.memory]);
  }

  /** The next one counts on what this one got. */
  async admit(pod: Pod): Promise<AdmissionFailure | undefined> {
    const failure = await this.#topology.admit(pod);
    if (failure !== undefined) this.release(pod.metadata.uid);
    return failure;
  }

  holdings(pod: Pod): readonly Holding[] {
    return describeHoldings(this.#managers, this.#topology, pod);
  }

  release(uid: PodUid): void {
    const { cpus, memory, devices } = this.#managers;
    cpus.releasePod(uid);
    memory.releasePod(uid);
    devices.releasePod(uid);
    this.#topology.releasePod(uid);
  }
}
