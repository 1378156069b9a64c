import type { PodSpec } from "../model/generated/kubernetes.ts";

/** A limit that a spec sets and that nothing enforces. */
export interface UnenforcedLimit {
  readonly path: string;
  readonly reason: string;
}

const reason = "not enforced: it takes the eviction of pods, which this node does not do yet";
const storage = "ephemeral-storage";

/** Limits of disk space, which only an eviction could enforce. */
export function unenforcedLimits(spec: PodSpec): readonly UnenforcedLimit[] {
  const volumes = (spec.volumes ?? []).flatMap(({ emptyDir }, index) =>
    emptyDir?.sizeLimit !== undefined && (emptyDir.medium ?? "") === ""
      ? [`spec.volumes[${index}].emptyDir.sizeLimit`]
      : [],
  );
  const containers = (["initContainers", "containers"] as const).flatMap((list) =>
    (spec[list] ?? []).flatMap(({ resources }, index) =>
      resources?.limits?.[storage] === undefined
        ? []
        : [`spec.${list}[${index}].resources.limits.${storage}`],
    ),
  );
  return [...volumes, ...containers].map((path) => ({ path, reason }));
}
