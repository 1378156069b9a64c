import type { VolumeLookups } from "../../core/storage/resolve-volumes.ts";
import { usedVolumes } from "../../core/volume/used-volumes.ts";
import { quoteText } from "../../lib/go-text.ts";
import { err, type Result } from "../../lib/result.ts";
import { ephemeralClaimName } from "../../model/ephemeral-claims.ts";
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvent } from "../../ports/pod-events.ts";

/** Claims, persistent volumes and CSI drivers: those of the cluster, or of the folder of a node without one. */
export interface Claims extends Pick<VolumeLookups, "origin" | "whyUnbound"> {
  /** An error is the text of the API server's. */
  claim(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Result<PersistentVolumeClaim, string>>;
  persistentVolume(name: string, signal: AbortSignal): Promise<Result<PersistentVolume, string>>;
  csiDriver(name: string): CSIDriver | undefined;
  /** A merge patch of the claim's status. */
  patchStatus(
    claim: PersistentVolumeClaim,
    patch: unknown,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim>;
  record(claim: PersistentVolumeClaim, event: PodEvent): void;
  recordVolume(volume: PersistentVolume, event: PodEvent): void;
}

/** What a pod refers to, read at once; what cannot be read is an error where it is looked up. */
export async function readClaims(
  claims: Claims,
  pod: Pod,
  signal: AbortSignal,
): Promise<VolumeLookups> {
  const { namespace, name: podName } = pod.metadata;
  const names = usedVolumes(pod).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [ephemeralClaimName(podName, name)];
  });
  const found = new Map<string, Result<PersistentVolumeClaim, string>>();
  const volumes = new Map<string, Result<PersistentVolume, string>>();
  await Promise.all(
    [...new Set(names)].map(async (name) => {
      const claim = await claims.claim(namespace, name, signal);
      found.set(name, claim);
      const volumeName = claim.ok ? (claim.value.spec?.volumeName ?? "") : "";
      if (volumeName === "" || volumes.has(volumeName)) return;
      volumes.set(volumeName, await claims.persistentVolume(volumeName, signal));
    }),
  );
  return {
    origin: claims.origin,
    whyUnbound: (claim) => claims.whyUnbound?.(claim),
    claim: (_, name) =>
      found.get(name) ?? err(`persistentvolumeclaims ${quoteText(name)} not found`),
    persistentVolume: (name) =>
      volumes.get(name) ?? err(`persistentvolumes ${quoteText(name)} not found`),
    csiDriver: (name) => claims.csiDriver(name),
  };
}
