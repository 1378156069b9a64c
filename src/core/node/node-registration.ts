import type { Node, Taint } from "../../model/generated/kubernetes.ts";
import { compareQuantity, wholeQuantity } from "../../model/quantity.ts";
import { isExtendedResource } from "../../model/validate/resource-names.ts";
import {
  amountOf,
  hugePagesPrefix,
  type ResourceList,
  resourceList,
} from "../resource/resource-list.ts";
import { formatResourceList } from "./node-capacity.ts";

const attachDetachAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach";

/** Labels that a node which is there already takes over from its agent. */
const ownLabels = [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "node.kubernetes.io/windows-build",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

export interface NodeRegistrationSettings {
  readonly nodeName: string;
  readonly hostname: string;
  /** As Go names it: amd64, arm64. */
  readonly architecture: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly Taint[];
  readonly providerId: string;
  readonly externalCloudProvider: boolean;
  readonly enableControllerAttachDetach: boolean;
}

/** The node as it is registered with the API server, still without a status. */
export function initialNode(settings: NodeRegistrationSettings): Node {
  const { architecture, providerId } = settings;
  const taints = [
    ...settings.registerWithTaints,
    ...(settings.externalCloudProvider
      ? [
          {
            key: "node.cloudprovider.kubernetes.io/uninitialized",
            value: "true",
            effect: "NoSchedule",
          },
        ]
      : []),
  ];
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: {
      name: settings.nodeName,
      labels: {
        "beta.kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": settings.hostname,
        "kubernetes.io/os": "linux",
        ...settings.nodeLabels,
      },
      ...(settings.enableControllerAttachDetach
        ? { annotations: { [attachDetachAnnotation]: "true" } }
        : {}),
    },
    spec: {
      ...(providerId === "" ? {} : { providerID: providerId }),
      ...(taints.length === 0 ? {} : { taints }),
    },
  };
}

export interface ReconciledNode {
  readonly node: Node;
  readonly requiresUpdate: boolean;
}

/** What becomes of a node that was there already when its agent registers it. */
export function reconcileNode(
  initial: Node,
  existing: Node,
  resetExtendedResources: boolean,
): ReconciledNode {
  const annotations = reconcileAnnotations(initial, existing);
  const labels = reconcileLabels(initial, existing);
  const resources = reconcileResources(initial, existing, resetExtendedResources);
  return {
    node: {
      ...existing,
      metadata: { ...existing.metadata, annotations: annotations.value, labels: labels.value },
      status: { ...existing.status, ...resources.value },
    },
    requiresUpdate: annotations.changed || labels.changed || resources.changed,
  };
}

interface Reconciled<T> {
  readonly value: T;
  readonly changed: boolean;
}

type Texts = Readonly<Record<string, string>>;

function reconcileAnnotations(initial: Node, existing: Node): Reconciled<Texts | undefined> {
  const value = existing.metadata?.annotations;
  const wanted = initial.metadata?.annotations?.[attachDetachAnnotation];
  if ((wanted ?? "") === (value?.[attachDetachAnnotation] ?? "")) return { value, changed: false };
  if (wanted !== undefined) {
    return { value: { ...value, [attachDetachAnnotation]: wanted }, changed: true };
  }
  const others = Object.entries(value ?? {}).filter(([name]) => name !== attachDetachAnnotation);
  return { value: Object.fromEntries(others), changed: true };
}

function reconcileLabels(initial: Node, existing: Node): Reconciled<Texts> {
  const wanted = initial.metadata?.labels ?? {};
  const labels: Record<string, string> = { ...existing.metadata?.labels };
  let changed = false;
  for (const name of ownLabels) {
    const value = wanted[name];
    if (value === undefined) continue;
    if ((labels[name] ?? "") !== value) changed = true;
    if (value === "") delete labels[name];
    else labels[name] = value;
  }
  return { value: labels, changed };
}

interface NodeResources {
  readonly capacity: Texts;
  readonly allocatable: Texts;
}

function reconcileResources(
  initial: Node,
  existing: Node,
  resetExtendedResources: boolean,
): Reconciled<NodeResources> {
  const wanted = initial.status ?? {};
  const known = existing.status ?? {};
  const state = {
    capacity: new Map(resourceList(known.capacity ?? wanted.capacity)),
    allocatable: new Map(resourceList(known.allocatable ?? wanted.allocatable)),
  };
  let changed =
    (known.capacity === undefined && wanted.capacity !== undefined) ||
    (known.allocatable === undefined && wanted.allocatable !== undefined);
  if (resetExtendedResources) {
    for (const name of state.capacity.keys()) {
      if (!isExtendedResource(name)) continue;
      state.capacity.set(name, wholeQuantity(0n, "DecimalSI"));
      state.allocatable.set(name, wholeQuantity(0n, "DecimalSI"));
      changed = true;
    }
  }
  changed = reconcileHugePages(state, wanted.capacity, wanted.allocatable) || changed;
  return {
    value: {
      capacity: formatResourceList(state.capacity),
      allocatable: formatResourceList(state.allocatable),
    },
    changed,
  };
}

interface ResourceState {
  readonly capacity: Map<string, ResourceAmount>;
  readonly allocatable: Map<string, ResourceAmount>;
}

type ResourceAmount = ReturnType<typeof amountOf>;

function reconcileHugePages(
  state: ResourceState,
  wantedCapacity: Texts | undefined,
  wantedAllocatable: Texts | undefined,
): boolean {
  const capacity = hugePagesOf(resourceList(wantedCapacity));
  const allocatable = resourceList(wantedAllocatable);
  let changed = false;
  for (const [name, amount] of capacity) {
    const wasKnown = state.capacity.has(name);
    const pairs = [
      [state.capacity, amount],
      [state.allocatable, amountOf(allocatable, name)],
    ] as const;
    for (const [list, wanted] of pairs) {
      if (wasKnown && compareQuantity(amountOf(list, name), wanted) === 0) continue;
      list.set(name, wanted);
      changed = true;
    }
  }
  for (const name of hugePagesOf(state.capacity).keys()) {
    if (capacity.has(name)) continue;
    state.capacity.delete(name);
    state.allocatable.delete(name);
    changed = true;
  }
  return changed;
}

function hugePagesOf(list: ResourceList): ResourceList {
  return new Map([...list].filter(([name]) => name.startsWith(hugePagesPrefix)));
}
