import type { ContainerKind, Pod } from "../model/pod.ts";

/** One event of a pod, as `kubectl describe` lists it. */
export interface PodEvent {
  readonly type: "Normal" | "Warning";
  /** One of upstream's reasons, such as Pulled or BackOff. */
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly container?: { readonly kind: ContainerKind; readonly name: string } | undefined;
}

/** What of a pod an event needs; a pod known only to the runtime has no more. */
export interface PodReference {
  readonly metadata: Pick<Pod["metadata"], "name" | "namespace" | "uid"> &
    Partial<Pick<Pod["metadata"], "resourceVersion">>;
}

export interface PodEvents {
  record(pod: PodReference, event: PodEvent): void;
}
