import { err, ok, type Result } from "../../lib/result.ts";
import type {
  Node,
  NodeFeatures,
  NodeRuntimeHandler,
  NodeStatus,
} from "../../model/generated/kubernetes.ts";
import type { MachineInfo, SystemInfo } from "../../model/machine-info.ts";
import type { Quantity } from "../../model/quantity.ts";
import { type NodeAddressFacts, nodeAddresses } from "./node-addresses.ts";
import { allocatableReservation, type NodeReservations } from "./node-allocatable.ts";
import { type DeviceResources, machineCapacity, nodeCapacity } from "./node-capacity.ts";
import { type NodeHealth, nodeConditions } from "./node-conditions.ts";
import { type NodeEvent, nodeStatusEvent } from "./node-event.ts";
import { nodeImages, type StoredImage } from "./node-images.ts";
import type { NodeRegistrationSettings } from "./node-registration.ts";

/** The node's settings. */
export interface NodeStatusSettings extends NodeRegistrationSettings {
  /** What --node-ip says, in canonical form: at most two. */
  readonly nodeIps: readonly string[];
  readonly maxPods: number;
  readonly podsPerCore: number;
  /** Below zero: all. */
  readonly maxImages: number;
  /** Of the kubelet's HTTPS API. */
  readonly port: number;
  /** Of Kubernetes, such as v1.36.4. */
  readonly kubeletVersion: string;
  /** As the runtime calls itself. */
  readonly runtimeName: string;
  readonly localStorageCapacityIsolation: boolean;
  readonly reservations: NodeReservations;
  readonly declaredFeatures: readonly string[];
}

/** What is seen of the node. */
export interface NodeStatusFacts {
  readonly machine: Result<MachineInfo, string>;
  readonly system: Result<SystemInfo, string>;
  /** Undefined where it is not known. */
  readonly ephemeralStorage: Quantity | undefined;
  readonly addresses: NodeAddressFacts;
  /** Undefined when the runtime does not report it. */
  readonly runtimeVersion: string | undefined;
  /** Largest first. */
  readonly images: Result<readonly StoredImage[], string>;
  readonly runtimeHandlers: readonly NodeRuntimeHandler[];
  readonly runtimeFeatures: NodeFeatures | undefined;
  readonly devices: DeviceResources;
  readonly health: NodeHealth;
  /** Undefined while it is not known: what the node said before stays. */
  readonly volumesInUse: readonly string[] | undefined;
  /** Whether the node was unschedulable at the last update. */
  readonly wasUnschedulable: boolean;
}

export interface ComputedNode {
  readonly node: Node;
  readonly events: readonly NodeEvent[];
  /** What could not be determined; the rest is reported all the same. */
  readonly problems: readonly string[];
}

/** The node with its status as of now. */
export function computeNode(
  node: Node,
  settings: NodeStatusSettings,
  facts: NodeStatusFacts,
  now: string,
): ComputedNode {
  const status = node.status ?? {};
  const addresses = nodeAddresses(node, settings, facts.addresses);
  const capacity = nodeCapacity({
    nodeName: settings.nodeName,
    status,
    machine: facts.machine.ok ? facts.machine.value : undefined,
    maxPods: settings.maxPods,
    podsPerCore: settings.podsPerCore,
    ephemeralStorage: settings.localStorageCapacityIsolation ? facts.ephemeralStorage : undefined,
    devices: facts.devices,
    reservation: reservationOf(settings, facts),
  });
  const images = nodeImages(facts.images, settings.maxImages);
  const conditions = nodeConditions({
    nodeName: settings.nodeName,
    previous: status.conditions ?? [],
    health: facts.health,
    capacity: capacity.capacity,
    localStorageCapacityIsolation: settings.localStorageCapacityIsolation,
    now,
  });
  return {
    node: {
      ...node,
      metadata: { ...node.metadata, annotations: addresses.annotations },
      status: {
        ...status,
        capacity: capacity.capacity,
        allocatable: capacity.allocatable,
        conditions: conditions.conditions,
        addresses: addresses.addresses ?? status.addresses,
        daemonEndpoints: { kubeletEndpoint: { Port: settings.port } },
        nodeInfo: { ...capacity.nodeInfo, ...softwareInfo(settings, facts) },
        images: orAbsent(images.ok ? images.value : []),
        runtimeHandlers: orAbsent(facts.runtimeHandlers),
        features: facts.runtimeFeatures ?? status.features,
        volumesInUse: orAbsent(facts.volumesInUse ?? status.volumesInUse ?? []),
        declaredFeatures: orAbsent(settings.declaredFeatures),
      },
    },
    events: [
      ...capacity.events,
      ...conditions.events,
      ...schedulingEvents(node, settings.nodeName, facts.wasUnschedulable),
    ],
    problems: problemsOf(addresses.problem, facts, images),
  };
}

/** The labels that a node must have to be used at all; the same object when it has them. */
export function withRequiredLabels(node: Node, architecture: string): Node {
  const required = { "kubernetes.io/os": "linux", "kubernetes.io/arch": architecture };
  const labels = node.metadata?.labels ?? {};
  const hasAll = Object.entries(required).every(([name, value]) => labels[name] === value);
  if (hasAll) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...required } } };
}

/** The whole capacity that shares of it are reserved from. */
export function totalCapacity(
  machine: MachineInfo,
  ephemeralStorage: Quantity | undefined,
): Map<string, Quantity> {
  const capacity = machineCapacity(machine);
  if (ephemeralStorage !== undefined) capacity.set("ephemeral-storage", ephemeralStorage);
  return capacity;
}

function reservationOf(
  settings: NodeStatusSettings,
  { machine, ephemeralStorage }: NodeStatusFacts,
): ReadonlyMap<string, Quantity> {
  if (!machine.ok) return new Map();
  const capacity = totalCapacity(
    machine.value,
    settings.localStorageCapacityIsolation ? ephemeralStorage : undefined,
  );
  return allocatableReservation(capacity, settings.reservations);
}

type SoftwareInfo = Pick<
  NonNullable<NodeStatus["nodeInfo"]>,
  | "containerRuntimeVersion"
  | "kubeletVersion"
  | "kubeProxyVersion"
  | "operatingSystem"
  | "architecture"
> &
  Partial<SystemInfo>;

function softwareInfo(settings: NodeStatusSettings, facts: NodeStatusFacts): SoftwareInfo {
  return {
    ...(facts.system.ok ? facts.system.value : {}),
    containerRuntimeVersion: `${settings.runtimeName}://${facts.runtimeVersion ?? "Unknown"}`,
    kubeletVersion: settings.kubeletVersion,
    // It cannot be known; what earlier versions reported is removed.
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: settings.architecture,
  };
}

function schedulingEvents(
  node: Node,
  nodeName: string,
  wasUnschedulable: boolean,
): readonly NodeEvent[] {
  const isUnschedulable = node.spec?.unschedulable === true;
  if (isUnschedulable === wasUnschedulable) return [];
  return [nodeStatusEvent(nodeName, isUnschedulable ? "NodeNotSchedulable" : "NodeSchedulable")];
}

function problemsOf(
  addressProblem: string | undefined,
  { machine, system }: NodeStatusFacts,
  images: Result<unknown, string>,
): readonly string[] {
  const failures = [
    addressProblem === undefined ? ok(undefined) : err(addressProblem),
    machine,
    system,
    images,
  ];
  return failures.flatMap((result) => (result.ok ? [] : [result.error]));
}

function orAbsent<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
