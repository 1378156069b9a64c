import { resourceList } from "../../../../src/core/resource/resource-list.ts";
import type { ResourceResourceClaim } from "../../../../src/model/generated/kubernetes.ts";
import type { MachineTopology } from "../../../../src/model/machine-topology.ts";

/** A resource that a device plugin serves. */
export interface SimResource {
  readonly name: string;
  readonly devices: readonly SimDevice[];
  /** Found among the sockets of all plugins; otherwise it calls the agent's own socket. */
  readonly isWatched: boolean;
  readonly isCalledBeforeStart: boolean;
}

interface SimDevice {
  readonly id: string;
  /** The NUMA node that it is near; undefined = the plugin does not know. */
  readonly node: number | undefined;
}

const gpus: SimResource = {
  name: "sim.dev/gpu",
  devices: [0, 1, 1].map((node, index) => ({ id: `gpu-${index}`, node })),
  isWatched: false,
  isCalledBeforeStart: false,
};

const cards: SimResource = {
  name: "sim.dev/card",
  devices: [0, 1].map((index) => ({ id: `card-${index}`, node: undefined })),
  isWatched: true,
  isCalledBeforeStart: true,
};

export const simResources: readonly SimResource[] = [gpus, cards];

/** What containers see of a device. */
export const devicePaths = "/dev/sim/";

const coresPerNode = 3;

/** Two NUMA nodes with three cores of two threads each: 0 to 5, and 6 to 11. */
export const smallTopology: MachineTopology = {
  cpuCount: 4 * coresPerNode,
  socketCount: 2,
  numaNodes: [0, 1].map((id) => ({
    id,
    memoryBytes: 32n * 1024n ** 3n,
    hugePages: [],
    distances: id === 0 ? [10, 20] : [20, 10],
    cores: Array.from({ length: coresPerNode }, (_, index) => {
      const first = 2 * (id * coresPerNode + index);
      return { socket: id, cpus: [first, first + 1], uncoreCaches: [id] };
    }),
  })),
};

/** Never handed out: one core. */
export const cpuReservation: ReturnType<typeof resourceList> = resourceList({ cpu: "2" });
export const allocatableCpus: number = smallTopology.cpuCount - 2;

/** A claim, and the drivers that prepare it. */
export interface SimResourceClaim {
  readonly name: string;
  readonly uid: string;
  readonly drivers: readonly string[];
}

const driverA = "accelerator.sim";
const driverB = "network.sim";
export const draDriverNames: readonly string[] = [driverA, driverB];

function claimOf(name: string, ...drivers: readonly string[]): SimResourceClaim {
  return { name, uid: `uid-of-${name}`, drivers };
}

/** Several pods may use each of them at once. */
export const resourceClaims: readonly SimResourceClaim[] = [
  claimOf("accelerator", driverA),
  claimOf("network", driverB),
  claimOf("both", driverA, driverB),
];

/** Allocated, and reserved for these pods. */
export function resourceClaimObject(
  { name, uid, drivers }: SimResourceClaim,
  users: readonly { readonly name: string; readonly uid: string }[],
): ResourceResourceClaim {
  const request = (driver: string): string => driver.replace(/\..*/, "");
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name, namespace: "default", uid },
    spec: {
      devices: {
        requests: drivers.map((driver) => ({
          name: request(driver),
          exactly: { deviceClassName: driver },
        })),
      },
    },
    status: {
      allocation: {
        devices: {
          results: drivers.map((driver) => ({
            driver,
            pool: "node",
            device: `${name}-device`,
            request: request(driver),
          })),
        },
      },
      reservedFor: users.map((user) => ({ resource: "pods", ...user })),
    },
  };
}

/** The CDI device that a driver prepares for a claim. */
export function cdiDevice(driver: string, claim: string): string {
  return `${driver}/claim=${claim}`;
}
