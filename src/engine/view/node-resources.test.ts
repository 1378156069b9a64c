import { expect, test } from "vitest";
import { loudFaults } from "../../../test/kit/loud-faults.ts";
import { testPod } from "../../../test/kit/pods.ts";
import { testManagers } from "../../../test/kit/test-managers.ts";
import { defaultManagerOptions, managerSettings } from "../../app/manager-options.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { simTopology } from "../../drivers/sim/sim-topology.ts";
import type { ResourceRequirements } from "../../model/generated/kubernetes.ts";
import { podUid } from "../../model/ids.ts";
import type { Pod } from "../../model/pod.ts";
import { wholeQuantity } from "../../model/quantity.ts";
import { Holders } from "../devices/holders.ts";
import { ActivePods } from "../pods/active-pods.ts";
import { PodTable } from "../pods/pod-table.ts";
import { NodeResources } from "./node-resources.ts";

const gpu = "example.com/gpu";
const node = {
  metadata: { name: "n1" },
  status: { capacity: { cpu: "64" }, allocatable: { cpu: "4" } },
};

/** A node with the CPUs 60 to 63 to hand out, all on NUMA node 1, and GPUs on each. */
async function world() {
  const table = new PodTable();
  const wanted = table.writer("wanted");
  const active = new ActivePods(table, loudFaults);
  const options = {
    ...defaultManagerOptions,
    cpu: { ...defaultManagerOptions.cpu, policy: "static", reserved: "0-59" },
    topology: { policy: "single-numa-node", scope: "container", options: {} },
  };
  const reservation = new Map([["cpu", wholeQuantity(60n, "DecimalSI")]]);
  const files = new MemoryFiles();
  const nothing = (): void => undefined;
  const { managers, store } = testManagers({
    table,
    files,
    settings: { node: { managers: managerSettings(options, simTopology, reservation) } },
    holders: new Holders({ table, active, sources: { areAllReady: true } }),
    wakeups: { lookAtCpus: nothing, look: nothing, updateNode: nothing },
  });
  await managers.start();
  store.manager.inventory.connect(gpu, {});
  store.manager.updateDevices(gpu, [
    { id: "gpu0", health: "Healthy", nodes: [0] },
    { id: "gpu1", health: "Healthy", nodes: [1] },
    { id: "gpu2", health: "Unhealthy", nodes: [1] },
  ]);
  const resources = new NodeResources({
    managers,
    active,
    node: { current: node },
    room: { judge: () => ({ result: { admit: true }, victims: [] }) },
  });
  const admit = async (pod: Pod): Promise<void> => {
    wanted.set(pod.metadata.uid, pod);
    expect(await managers.admit(pod)).toBeUndefined();
  };
  const stateFile = (): Promise<string | undefined> => files.readText("/data/cpu_manager_state");
  const giveGpu = (name: string, id: string): void => {
    const pod = podUid(`uid-${name}`);
    const idsByNode = new Map([[1, [id]]]);
    const entry = { pod, container: "main", resource: gpu, idsByNode, response: {} };
    store.manager.restore({ entries: [entry], registered: new Map() }, 0);
  };
  return { resources, admit, stateFile, giveGpu };
}

function podOf(name: string, amounts: Readonly<Record<string, string>>): Pod {
  const all = { memory: "1Mi", ...amounts };
  const resources: ResourceRequirements = { requests: all, limits: all };
  const pod = testPod({ containers: [{ name: "main", resources }] });
  return { ...pod, metadata: { ...pod.metadata, name, uid: podUid(`uid-${name}`) } };
}

test("pods that came now would get what is left, one after the other, and nothing is changed by asking", async () => {
  const { resources, admit, stateFile } = await world();
  await admit(podOf("first", { cpu: "1" }));
  const before = await stateFile();
  const pods = [podOf("a", { cpu: "2", [gpu]: "1" }), podOf("b", { cpu: "2" })];
  for (const _ of ["once", "again"]) {
    const [a, b] = await resources.rehearse(pods);
    expect(a?.holdings).toMatchObject([
      { container: "main", resource: "cpu", what: "61-62" },
      { container: "main", resource: gpu, what: "gpu1" },
    ]);
    expect(a?.holdings[0]?.because).toContain(
      "NUMA node 1: the only one with 1 free healthy example.com/gpu and 2 free CPUs",
    );
    expect(b).toMatchObject({ refusal: { reason: "TopologyAffinityError" }, holdings: [] });
    expect(b?.refusal?.because).toContain("2 free CPUs on none");
  }
  expect(await stateFile()).toBe(before);
  expect(resources.describe().holdings).toHaveLength(1);
});

test("a pod takes over what one of its name gives back", async () => {
  const { resources, admit } = await world();
  await admit(podOf("web", { cpu: "3" }));
  const next = podOf("web", { cpu: "4" });
  const changed = { ...next, metadata: { ...next.metadata, uid: podUid("uid-next") } };
  const [answer] = await resources.rehearse([changed]);
  expect(answer).toMatchObject({ refusal: undefined, holdings: [{ what: "60-63" }] });
});

test("the node is shown with what it has, what is left, and who has the rest", async () => {
  const { resources, admit, giveGpu } = await world();
  await admit(podOf("web", { cpu: "1" }));
  giveGpu("web", "gpu1");
  const { policies, resources: shown, holdings } = resources.describe();
  expect(policies).toEqual({
    cpu: "static",
    memory: "None",
    topology: "single-numa-node",
    topologyScope: "container",
  });
  expect(shown).toEqual([
    { resource: "cpu", capacity: "64", allocatable: "4", free: "61-63" },
    { resource: gpu, capacity: "3", allocatable: "2", free: "gpu0", unhealthy: "gpu2" },
  ]);
  expect(holdings).toMatchObject([
    { pod: { name: "web" }, container: "main", resource: "cpu", what: "60" },
    { pod: { name: "web" }, container: "main", resource: gpu, what: "gpu1" },
  ]);
});
