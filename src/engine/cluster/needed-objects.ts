import type { Result } from "../../lib/result.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";

/** Which objects of one kind are looked at, and how messages call the kind. */
export interface ObjectKind {
  /** Such as configmap. */
  readonly name: string;
  /** As paths have it, such as configmaps. */
  readonly plural: string;
}

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** The objects of one kind that the node's pods refer to, and no others. */
export interface NeededObjects<T> {
  /** Makes these the objects that a pod refers to. */
  setNeeded(podUid: string, objects: readonly ObjectName[]): void;
  /** Brings what is known of these up to date, as far as that is possible in a short time. */
  refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void>;
  get(object: ObjectName): Result<T, LookUpFailure>;
}

export function collectionPath({ plural }: ObjectKind, namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function nameKey({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

export function notRegistered({ namespace, name }: ObjectName): LookUpFailure {
  return { code: "failed", message: `object "${namespace}"/"${name}" not registered` };
}
