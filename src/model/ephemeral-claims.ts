import type { PersistentVolumeClaim } from "./generated/kubernetes.ts";
import type { PodUid } from "./ids.ts";
import type { Pod } from "./pod.ts";

/** The claim of a generic ephemeral volume, which lives as long as its pod. */
export interface EphemeralClaim {
  readonly claim: PersistentVolumeClaim;
  readonly podUid: PodUid;
  /** The volume's name in the pod. */
  readonly volume: string;
}

/** The claim that is created for a generic ephemeral volume of a pod. */
export function ephemeralClaimName(podName: string, volumeName: string): string {
  return `${podName}-${volumeName}`;
}

/** The claims that a controller would create for a pod. */
export function ephemeralClaims({ metadata: pod, spec }: Pod): readonly EphemeralClaim[] {
  const { namespace, name: podName, uid: podUid } = pod;
  return (spec.volumes ?? []).flatMap(({ name: volume, ephemeral }) => {
    if (ephemeral === undefined) return [];
    const { metadata, spec: claimSpec } = ephemeral.volumeClaimTemplate ?? {};
    const owner = { apiVersion: "v1", kind: "Pod", name: podName, uid: podUid, controller: true };
    const claim = {
      metadata: {
        ...metadata,
        namespace,
        name: ephemeralClaimName(podName, volume),
        uid: `${podUid}_${volume}`,
        ownerReferences: [owner],
      },
      spec: claimSpec,
    };
    return [{ claim, podUid, volume }];
  });
}
