import type {
  Pod as ApiPod,
  Container,
  EphemeralContainer,
  ObjectMeta,
  PodSpec,
} from "./generated/kubernetes.ts";
import type { PodUid } from "./ids.ts";

/** A pod that passed the border: it has a name, a namespace, a UID and a spec. */
export interface Pod extends ApiPod {
  readonly metadata: ObjectMeta & {
    readonly name: string;
    readonly namespace: string;
    readonly uid: PodUid;
  };
  readonly spec: PodSpec;
}

export type ContainerKind = "init" | "regular" | "ephemeral";

/** Any container of a pod; an ephemeral one has every field of Container that the kubelet reads. */
export type AnyContainer = Container | EphemeralContainer;

export interface PlacedContainer {
  readonly kind: ContainerKind;
  readonly index: number;
  readonly container: AnyContainer;
}

/** The key under which logs and events show a pod: namespace/name. */
export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

/** The pod as upstream's events and messages name it: name_namespace(uid). */
export function podDisplayName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

/** The full name: what must be unique among running pods of a node. */
export function podFullName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}

/** All containers in the order init, regular, ephemeral. */
export function podContainers(pod: Pod): PlacedContainer[] {
  return [
    ...(pod.spec.initContainers ?? []).map(placed("init")),
    ...pod.spec.containers.map(placed("regular")),
    ...(pod.spec.ephemeralContainers ?? []).map(placed("ephemeral")),
  ];
}

export function findContainer(pod: Pod, name: string): PlacedContainer | undefined {
  return podContainers(pod).find(({ container }) => container.name === name);
}

/** A sidecar: an init container that is restarted for as long as the pod lives. */
export function isSidecar(container: AnyContainer): boolean {
  return container.restartPolicy === "Always";
}

function placed(kind: ContainerKind) {
  return (container: AnyContainer, index: number): PlacedContainer => ({ kind, index, container });
}
