import { compareText } from "../../lib/compare-text.ts";
import { quoteText } from "../../lib/go-text.ts";
import type { EphemeralClaim } from "../ephemeral-claims.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../generated/kubernetes.ts";
import { compareQuantity, mustParseQuantity, type Quantity, zeroQuantity } from "../quantity.ts";

/** What a claim of a node without a cluster gets. */
export type ClaimBinding = { readonly claim: PersistentVolumeClaim } & (
  | { readonly kind: "volume"; readonly volume: PersistentVolume }
  /** A folder of this node. */
  | { readonly kind: "folder" }
  /** A folder that goes with the pod whose volume it is. */
  | ({ readonly kind: "pod-folder" } & Pick<EphemeralClaim, "podUid" | "volume">)
  /** Nothing, because of what its field says. */
  | { readonly kind: "none"; readonly field: string; readonly message: string }
);

/**
 * Binds each claim to the persistent volume that it names or that names it, with a controller's checks, and to a folder of this
 * node when there is none. A volume serves one claim: the first by namespace and name. Of two claims of one name, the one that is
 * not a pod's comes first, so that no pod takes it for its own.
 */
export function bindClaims(
  claims: readonly PersistentVolumeClaim[],
  volumes: readonly PersistentVolume[],
  ephemeralClaims: readonly EphemeralClaim[] = [],
): readonly ClaimBinding[] {
  const owners = new Map<string, string>();
  const ephemeral = new Map(ephemeralClaims.map((each) => [each.claim, each]));
  return [...claims, ...ephemeral.keys()]
    .toSorted((a, b) => compareText(claimKey(a), claimKey(b)))
    .map((claim) => {
      const binding = bindClaim(claim, volumes, owners);
      const owned = ephemeral.get(claim);
      if (binding.kind !== "folder" || owned === undefined) return binding;
      return { ...owned, kind: "pod-folder" };
    });
}

export function claimKey({ metadata }: PersistentVolumeClaim): string {
  return `${metadata?.namespace ?? "default"}/${metadata?.name ?? ""}`;
}

function bindClaim(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  owners: Map<string, string>,
): ClaimBinding {
  const none = (field: string, message: string): ClaimBinding => ({
    kind: "none",
    claim,
    field,
    message,
  });
  const { volumeName = "" } = claim.spec ?? {};
  const volume = findVolume(claim, volumes);
  if (volume === undefined && volumeName === "") {
    const problem = folderProblem(claim);
    return problem === undefined ? { kind: "folder", claim } : none(...problem);
  }
  if (volume === undefined) {
    const message = `PersistentVolume ${quoteText(volumeName)} is not in the manifests: add it, or leave the field out and the claim gets a folder of this node`;
    return none("spec.volumeName", message);
  }
  const name = volume.metadata?.name ?? "";
  const owner = owners.get(name);
  if (owner !== undefined) {
    const message = `PersistentVolume ${quoteText(name)} is bound to the claim ${owner}: a volume serves one claim`;
    return none("spec.volumeName", message);
  }
  const problem = matchProblem(claim, volume);
  if (problem !== undefined) return none(...problem);
  owners.set(name, claimKey(claim));
  return { kind: "volume", claim, volume };
}

/** The volume that the claim names, or else the one whose claimRef names the claim. */
function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const { volumeName = "" } = claim.spec ?? {};
  return volumes.find(({ metadata, spec }) =>
    volumeName === ""
      ? spec?.claimRef !== undefined && referenceKey(spec.claimRef) === claimKey(claim)
      : metadata?.name === volumeName,
  );
}

function referenceKey({
  namespace = "default",
  name = "",
}: {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}): string {
  return `${namespace}/${name}`;
}

type Problem = readonly [field: string, message: string];

/** The name of a claim's folder; a namespace has no "_", so that no two claims have the same. */
export function claimFolderName({ metadata }: PersistentVolumeClaim): string {
  return `${metadata?.namespace ?? "default"}_${metadata?.name ?? ""}`;
}

/** What file systems allow. */
const maxFolderName = 255;

/** Why a folder of this node does not serve the claim. */
function folderProblem(claim: PersistentVolumeClaim): Problem | undefined {
  const { spec = {} } = claim;
  if (claimFolderName(claim).length > maxFolderName) {
    return ["metadata.name", "too long, with its namespace, to be the name of a folder"];
  }
  const instead = "name a PersistentVolume of the manifests in spec.volumeName";
  if (spec.volumeMode === "Block") {
    return ["spec.volumeMode", `a folder of this node is not a block device: ${instead}`];
  }
  if (spec.storageClassName === "") {
    return ["spec.storageClassName", `an empty class asks for a volume that exists: ${instead}`];
  }
  if (spec.selector !== undefined) {
    return ["spec.selector", `volumes are not selected by labels without a cluster: ${instead}`];
  }
  const sources = ["dataSource", "dataSourceRef"] as const;
  const source = sources.find((field) => spec[field] !== undefined);
  if (source === undefined) return undefined;
  return [
    `spec.${source}`,
    "a folder of this node cannot be filled from a source: remove the field",
  ];
}

/** Why the volume does not serve the claim. */
function matchProblem(
  claim: PersistentVolumeClaim,
  { metadata, spec: offered = {} }: PersistentVolume,
): Problem | undefined {
  const { spec: asked = {} } = claim;
  const of = `of PersistentVolume ${quoteText(metadata?.name ?? "")}`;
  const { claimRef } = offered;
  if (claimRef !== undefined && referenceKey(claimRef) !== claimKey(claim)) {
    const message = `spec.claimRef ${of} names the claim ${referenceKey(claimRef)}`;
    return ["spec.volumeName", message];
  }
  const classes = [asked.storageClassName ?? "", offered.storageClassName ?? ""] as const;
  if (classes[0] !== classes[1]) {
    const message = `${quoteText(classes[0])} is not the class ${of}, which is ${quoteText(classes[1])}`;
    return ["spec.storageClassName", message];
  }
  const modes = [asked.volumeMode ?? "Filesystem", offered.volumeMode ?? "Filesystem"] as const;
  if (modes[0] !== modes[1]) {
    return ["spec.volumeMode", `${modes[0]} is not the mode ${of}, which is ${modes[1]}`];
  }
  const missing = (asked.accessModes ?? []).find(
    (mode) => offered.accessModes?.includes(mode) !== true,
  );
  if (missing !== undefined) {
    return ["spec.accessModes", `${missing} is not among the access modes ${of}`];
  }
  const size = sizeOf(asked.resources?.requests);
  if (compareQuantity(size, sizeOf(offered.capacity)) <= 0) return undefined;
  return ["spec.resources.requests.storage", `more than the capacity ${of}`];
}

function sizeOf(amounts: Readonly<Record<string, string>> | undefined): Quantity {
  const text = amounts?.["storage"];
  return text === undefined ? zeroQuantity : mustParseQuantity(text);
}
