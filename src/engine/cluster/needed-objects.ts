import type { ObjectName, ReferencedKind } from "../../core/cluster/pod-references.ts";
import type { Result } from "../../lib/result.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";

/** The objects of one kind that the node's pods refer to, and no others. */
export interface NeededObjects<T> {
  /** A pod refers to it. Does nothing for an object that is kept already. */
  keep(object: ObjectName): void;
  /** No pod refers to it any more. */
  drop(object: ObjectName): void;
  /** Brings these up to date, as far as that is possible in a short time. */
  refresh(objects: readonly ObjectName[], signal: AbortSignal): Promise<void>;
  get(object: ObjectName): Result<T, LookUpFailure>;
}

export function collectionPath(kind: ReferencedKind, namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${kind}`;
}

/** As messages have it, such as configmap. */
export function singular(kind: ReferencedKind): string {
  return kind.slice(0, -1);
}

export function nameKey({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

export function notRegistered({ namespace, name }: ObjectName): LookUpFailure {
  return { code: "failed", message: `object "${namespace}"/"${name}" not registered` };
}
