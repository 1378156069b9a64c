import { err, ok, type Result } from "../../lib/result.ts";
import type { PersistentVolumeClaim } from "../../model/generated/kubernetes.ts";
import type { Pod } from "../../model/pod.ts";

/** Refuses a claim of the expected name that was made for something else: its data is not the pod's. */
export function checkEphemeralClaimOwner(
  { metadata: pod }: Pod,
  claim: PersistentVolumeClaim,
): Result<void, string> {
  const { namespace = "", name = "", ownerReferences = [] } = claim.metadata ?? {};
  const controller = ownerReferences.find((owner) => owner.controller === true);
  if (namespace === pod.namespace && controller?.uid === pod.uid) return ok(undefined);
  return err(
    `PVC ${namespace}/${name} was not created for pod ${pod.namespace}/${pod.name} (pod is not owner)`,
  );
}
