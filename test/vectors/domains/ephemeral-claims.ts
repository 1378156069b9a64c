import { checkEphemeralClaimOwner } from "../../../src/core/storage/ephemeral-claims.ts";
import { ephemeralClaimName } from "../../../src/model/ephemeral-claims.ts";
import type { PersistentVolumeClaim, Volume } from "../../../src/model/generated/kubernetes.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { type VectorDomain, vectorDomain } from "../vector-domain.ts";

interface Input {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly persistentVolumeClaim?: PersistentVolumeClaim;
}

export const ephemeralClaims: VectorDomain = vectorDomain<Input>(
  "ephemeral-claims",
  ({ pod, volume, persistentVolumeClaim }) => {
    const claimName = ephemeralClaimName(pod.metadata.name, volume.name);
    if (persistentVolumeClaim === undefined) return { claimName };
    const owned = checkEphemeralClaimOwner(pod, persistentVolumeClaim);
    return { claimName, owned: owned.ok, error: owned.ok ? undefined : owned.error };
  },
);
