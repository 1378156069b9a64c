import type { Container, EphemeralContainer, PodSpec } from "../generated/kubernetes.ts";
import type { FieldPath } from "./field-error.ts";

export interface ContainerWithPath {
  readonly container: Container | EphemeralContainer;
  readonly path: FieldPath;
}

/** All containers of a spec with their paths: init, regular, ephemeral. */
export function containersWithPath(spec: PodSpec, field: FieldPath): ContainerWithPath[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, index) => ({
      container,
      path: `${field}.${list}[${index}]`,
    })),
  );
}
