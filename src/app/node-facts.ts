// Facts about this machine as a node.

import { readFileSync, statfsSync } from "node:fs";
import { hostname } from "node:os";
import type { AdmissionFacts } from "../core/admission/admit-pod.ts";
import { allocatableProblem, allocatableReservation } from "../core/node/node-allocatable.ts";
import { nodeCapacity } from "../core/node/node-capacity.ts";
import { nodeIpProblem } from "../core/node/node-ip-problem.ts";
import { initialNode } from "../core/node/node-registration.ts";
import { totalCapacity } from "../core/node/node-status.ts";
import type { ResourceList } from "../core/resource/resource-list.ts";
import { isAppArmorEnabled } from "../drivers/linux/kernel-features.ts";
import { linuxNodeFacts } from "../drivers/linux/node-facts.ts";
import type { NodeSettings } from "../engine/node/node-settings.ts";
import { SetupError } from "../lib/setup-error.ts";
import type { RuntimeFeatures } from "../model/generated/cri.ts";
import type { Node } from "../model/generated/kubernetes.ts";
import type { MachineInfo } from "../model/machine-info.ts";
import { type Quantity, wholeQuantity } from "../model/quantity.ts";

/** The machine's name in the form that node names have. */
export function defaultNodeName(): string {
  return hostname().trim().toLowerCase();
}

/** The machine's own address: that of its default route, or any; loopback where there is no other. */
export function readHostIps(): readonly string[] {
  const chosen = linuxNodeFacts.defaultIp(4);
  if (chosen.ok) return [chosen.value];
  const others = linuxNodeFacts.listIps().filter((ip) => nodeIpProblem(ip, [ip]) === undefined);
  return [others.find((ip) => !ip.includes(":")) ?? others[0] ?? "127.0.0.1"];
}

/** Read with every container that starts: handing it to another thread takes longer than a few lines (docs/adr/0013). */
export function readResolverConfig(path: string): string {
  return readFileSync(path, "utf8");
}

/** What pods are admitted against on this machine. */
export function describeAdmission(
  settings: NodeSettings,
  dataDir: string,
  rules: Pick<AdmissionFacts, "sysctls" | "fieldRules" | "podLevelResources">,
): AdmissionFacts {
  return {
    node: describeNode(settings, dataDir),
    appArmorEnabled: isAppArmorEnabled(),
    ...rules,
  };
}

/** What the node keeps from pods. */
export function machineReservation(settings: NodeSettings, dataDir: string): ResourceList {
  const { total } = readCapacity(dataDir);
  return allocatableReservation(total, settings.reservations);
}

interface MachineCapacity {
  readonly machine: MachineInfo;
  readonly ephemeralStorage: Quantity;
  readonly total: ResourceList;
}

function readCapacity(dataDir: string): MachineCapacity {
  const disk = statfsSync(dataDir);
  const machine = linuxNodeFacts.readMachine();
  const ephemeralStorage = wholeQuantity(BigInt(disk.blocks) * BigInt(disk.bsize), "BinarySI");
  return { machine, ephemeralStorage, total: totalCapacity(machine, ephemeralStorage) };
}

function describeNode(settings: NodeSettings, dataDir: string): Node {
  const { machine, ephemeralStorage, total } = readCapacity(dataDir);
  const problem = allocatableProblem(total, settings.reservations);
  if (problem !== undefined) {
    throw new SetupError(problem, "lower kubeReserved, systemReserved or evictionHard");
  }
  const { capacity, allocatable } = nodeCapacity({
    nodeName: settings.nodeName,
    status: {},
    machine,
    maxPods: settings.maxPods,
    podsPerCore: settings.podsPerCore,
    ephemeralStorage,
    devices: { capacity: new Map(), allocatable: new Map(), removed: [] },
    reservation: allocatableReservation(total, settings.reservations),
  });
  const { declaredFeatures } = settings;
  return { ...initialNode(settings), status: { capacity, allocatable, declaredFeatures } };
}

/** The node with what its runtime says that it can do. */
export function withRuntimeFeatures(node: Node, features: RuntimeFeatures | undefined): Node {
  const { supplementalGroupsPolicy = false } = features ?? {};
  return { ...node, status: { ...node.status, features: { supplementalGroupsPolicy } } };
}
