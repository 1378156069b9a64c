import type { Pod } from "../../model/pod.ts";
import { referencedConfigMaps, referencedSecrets } from "../../model/referenced-objects.ts";

/** By the plural that paths of the API server have. */
export type ReferencedKind = "configmaps" | "secrets";

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** The objects that a pod refers to, by name; all are of its own namespace. */
export interface PodReferences extends Readonly<Record<ReferencedKind, ReadonlySet<string>>> {
  readonly namespace: string;
}

export function podReferences({ metadata, spec }: Pod): PodReferences {
  return {
    namespace: metadata.namespace,
    configmaps: referencedConfigMaps(spec),
    secrets: referencedSecrets(spec),
  };
}

export function referencedObjects(
  references: PodReferences | undefined,
  kind: ReferencedKind,
): readonly ObjectName[] {
  if (references === undefined) return [];
  const { namespace } = references;
  return [...references[kind]].map((name) => ({ namespace, name }));
}

export function refersTo(
  references: PodReferences | undefined,
  kind: ReferencedKind,
  { namespace, name }: ObjectName,
): boolean {
  return references?.namespace === namespace && references[kind].has(name);
}
