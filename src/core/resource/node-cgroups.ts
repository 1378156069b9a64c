import type { CgroupResources } from "../../model/cgroup.ts";
import { wholeQuantity } from "../../model/quantity.ts";
import { enforcedAllocatable } from "../node/node-allocatable.ts";
import { nodeCgroupResources } from "./cgroup-resources.ts";
import { resourceList } from "./resource-list.ts";

type Amounts = Readonly<Record<string, string>>;

/** What of the machine is kept from pods, and which cgroups are held to it. */
export interface NodeReservationSettings {
  readonly kubeReserved: Amounts;
  readonly systemReserved: Amounts;
  readonly kubeReservedCgroup: string;
  readonly systemReservedCgroup: string;
  /** What enforceNodeAllocatable lists. */
  readonly enforced: readonly string[];
  /** Whether what is reserved is also kept from being reclaimed (the feature MemoryQoS). */
  readonly keepsMemory?: boolean | undefined;
}

/** What the cgroup of all pods allows: all that the machine has, or what is left of it where that is enforced. */
export function podsRootResources(
  capacity: Amounts,
  maxPids: number | undefined,
  settings: NodeReservationSettings,
): CgroupResources {
  const all = resourceList(capacity);
  const whole =
    maxPids === undefined
      ? all
      : new Map([...all, ["pid", wholeQuantity(BigInt(maxPids), "DecimalSI")]]);
  const allowed = settings.enforced.includes("pods")
    ? enforcedAllocatable(whole, {
        kubeReserved: resourceList(settings.kubeReserved),
        systemReserved: resourceList(settings.systemReserved),
        hardThresholds: [],
      })
    : whole;
  return nodeCgroupResources(allowed, false);
}

/** A cgroup of the system or of the node's own services that is held to what is reserved for it. */
export interface ReservedCgroup {
  /** Its entry in enforceNodeAllocatable. */
  readonly key: string;
  /** As messages name it: "System Reserved", "Kube Reserved Compressible". */
  readonly title: string;
  readonly name: string;
  readonly cgroup: string;
  readonly resources: CgroupResources;
}

/** The cgroups to hold to what is reserved for them, in the order in which it is done. */
export function reservedCgroups(settings: NodeReservationSettings): readonly ReservedCgroup[] {
  const system = { name: "system reserved", cgroup: settings.systemReservedCgroup };
  const kube = { name: "kube reserved", cgroup: settings.kubeReservedCgroup };
  const systemReserved = resourceList(settings.systemReserved);
  const kubeReserved = resourceList(settings.kubeReserved);
  const all: readonly ReservedCgroup[] = [
    {
      ...system,
      key: "system-reserved",
      title: "System Reserved",
      resources: withKeptMemory(nodeCgroupResources(systemReserved, false), settings),
    },
    {
      ...kube,
      key: "kube-reserved",
      title: "Kube Reserved",
      resources: withKeptMemory(nodeCgroupResources(kubeReserved, false), settings),
    },
    {
      ...system,
      key: "system-reserved-compressible",
      title: "System Reserved Compressible",
      resources: nodeCgroupResources(systemReserved, true),
    },
    {
      ...kube,
      key: "kube-reserved-compressible",
      title: "Kube Reserved Compressible",
      resources: nodeCgroupResources(kubeReserved, true),
    },
  ];
  return all.filter(({ key }) => settings.enforced.includes(key));
}

function withKeptMemory(
  resources: CgroupResources,
  { keepsMemory = false }: NodeReservationSettings,
): CgroupResources {
  const { memoryBytes } = resources;
  if (!keepsMemory || memoryBytes === undefined) return resources;
  return { ...resources, unified: { "memory.min": String(memoryBytes) } };
}
