import { quoteText } from "../../../lib/go-text.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import type {
  Container,
  ContainerExtendedResourceRequest,
  PodResourceClaim,
  ResourceResourceClaim,
} from "../../../model/generated/kubernetes.ts";
import { type Pod, podKey } from "../../../model/pod.ts";
import { isZeroQuantity } from "../../../model/quantity.ts";
import { isClaimableResource } from "../../../model/validate/resource-names.ts";
import { resourceList } from "../../resource/resource-list.ts";

export interface PodClaim {
  readonly name: string;
  /** Made for the pod from a template: it has to belong to this very pod. */
  readonly isGenerated: boolean;
}

/** The ResourceClaim behind an entry of a pod's spec; undefined when none was needed. */
export function claimOf(
  pod: Pod,
  { name, resourceClaimName, resourceClaimTemplateName }: PodResourceClaim,
): Result<PodClaim | undefined, string> {
  if (resourceClaimName !== undefined) return ok({ name: resourceClaimName, isGenerated: false });
  if (resourceClaimTemplateName === undefined) {
    return err(
      `pod "${podKey(pod)}", spec.resourceClaim ${quoteText(name)}: none of the supported fields are set`,
    );
  }
  const status = pod.status?.resourceClaimStatuses?.find((entry) => entry.name === name);
  if (status === undefined) return err(`pod "${podKey(pod)}": ResourceClaim not created yet`);
  const generated = status.resourceClaimName;
  return ok(generated === undefined ? undefined : { name: generated, isGenerated: true });
}

/** All claims that a pod needs, in order: those of its spec, and the one that backs its extended resources. */
export function podClaims(pod: Pod): Result<PodClaim | undefined, string>[] {
  const claims = (pod.spec.resourceClaims ?? []).map((entry) => claimOf(pod, entry));
  const extended = pod.status?.extendedResourceClaimStatus;
  if (extended === undefined) return claims;
  return [...claims, ok({ name: extended.resourceClaimName, isGenerated: false })];
}

/** Why a claim is not this pod's to use. */
export function claimProblem(
  pod: Pod,
  { name, isGenerated }: PodClaim,
  claim: ResourceResourceClaim,
): string | undefined {
  const { uid, namespace = "", ownerReferences = [] } = claim.metadata ?? {};
  const { metadata } = pod;
  if (isGenerated) {
    const named = `ResourceClaim ${namespace}/${claim.metadata?.name}`;
    if (namespace !== metadata.namespace) {
      return `${named} is not in the same namespace as Pod ${podKey(pod)}`;
    }
    const controller = ownerReferences.find((owner) => owner.controller === true);
    if (controller?.uid !== metadata.uid) {
      return `${named} was not created for Pod ${podKey(pod)} (Pod is not owner)`;
    }
  }
  const isReserved = claim.status?.reservedFor?.some((user) => user.uid === metadata.uid) === true;
  return isReserved
    ? undefined
    : `pod ${metadata.name} (${metadata.uid}) is not allowed to use ResourceClaim ${name} (${uid})`;
}

export interface ContainerClaim {
  readonly name: string;
  /** Of the claim; "" is all of them. */
  readonly requests: readonly string[];
}

/** The claims whose devices a container gets, those that back its extended resources last. */
export function claimsOfContainer(
  pod: Pod,
  container: Container,
): Result<ContainerClaim[], string> {
  const claims: ContainerClaim[] = [];
  for (const entry of pod.spec.resourceClaims ?? []) {
    const uses = container.resources?.claims?.filter(({ name }) => name === entry.name) ?? [];
    if (uses.length === 0) continue;
    const claim = claimOf(pod, entry);
    if (!claim.ok) return claim;
    if (claim.value === undefined) continue;
    claims.push({ name: claim.value.name, requests: uses.map(({ request = "" }) => request) });
  }
  const requested = resourceList(container.resources?.requests);
  const requests = extendedRequests(pod, container)
    .filter(({ resourceName }) => {
      const amount = requested.get(resourceName);
      return amount !== undefined && !isZeroQuantity(amount) && isClaimableResource(resourceName);
    })
    .map(({ requestName }) => requestName);
  const extended = pod.status?.extendedResourceClaimStatus;
  if (extended !== undefined && requests.length > 0) {
    claims.push({ name: extended.resourceClaimName, requests });
  }
  return ok(claims);
}

/** The requests of the pod's extra claim that are a container's extended resources. */
export function extendedRequests(
  pod: Pod,
  container: Container,
): readonly ContainerExtendedResourceRequest[] {
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return mappings.filter(({ containerName }) => containerName === container.name);
}
