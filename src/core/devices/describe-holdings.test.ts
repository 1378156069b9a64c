import { expect, test } from "vitest";
import { testPod } from "../../../test/kit/pods.ts";
import { simTopology } from "../../drivers/sim/sim-topology.ts";
import type { Result } from "../../lib/result.ts";
import { wholeQuantity } from "../../model/quantity.ts";
import { startCpuManager } from "./cpu/cpu-manager.ts";
import { cpuPolicy } from "./cpu/cpu-policy.ts";
import { describeHoldings } from "./describe-holdings.ts";
import { DraDrivers } from "./dra/dra-drivers.ts";
import { DraManager } from "./dra/dra-manager.ts";
import { startMemoryManager } from "./memory/memory-manager.ts";
import { DeviceManager } from "./plugin/device-manager.ts";
import { TopologyManager } from "./topology/topology-manager.ts";
import { topologyPolicy } from "./topology/topology-policy.ts";

const newState = { file: undefined, filePath: "/state", containers: new Map<string, never>() };

function valueOf<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

test("what a container has is named, with where it is and why", async () => {
  const settings = {
    policy: "static",
    options: {},
    optionGates: { alpha: false, beta: true },
    reservation: wholeQuantity(1n, "DecimalSI"),
    reservedCpus: [],
    topologyPolicy: "single-numa-node",
  };
  const cpus = valueOf(startCpuManager(valueOf(cpuPolicy(settings, simTopology)), newState));
  const memory = valueOf(startMemoryManager({ name: "None" }, newState));
  const devices = new DeviceManager([0, 1]);
  const dra = new DraManager(new DraDrivers());
  const policy = { policy: "single-numa-node", scope: "container", options: {} };
  const topology = new TopologyManager(valueOf(topologyPolicy(policy, simTopology.numaNodes)), [
    cpus,
  ]);
  const amounts = { cpu: "2", memory: "1Mi" };
  const pod = testPod({
    containers: [{ name: "main", resources: { requests: amounts, limits: amounts } }],
  });
  await topology.admit(pod);
  const { uid } = pod.metadata;
  devices.podDevices.add({
    pod: uid,
    container: "main",
    resource: "example.com/gpu",
    idsByNode: new Map([[0, ["b", "a"]]]),
    response: {},
  });
  const where =
    "; topology policy single-numa-node: NUMA node 0: the first of 0, 1 with 2 free CPUs";
  expect(describeHoldings({ cpus, memory, devices, dra }, topology, pod)).toEqual([
    {
      container: "main",
      resource: "cpu",
      what: "1-2",
      because: `its pod is Guaranteed and it asks for whole CPUs; free CPUs as close together as can be${where}`,
    },
    {
      container: "main",
      resource: "example.com/gpu",
      what: "a,b",
      because: `its limits name it; those it had when the agent started${where}`,
    },
  ]);
});
