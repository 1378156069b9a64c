import { err, ok, type Result } from "../../lib/result.ts";
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  VolumeAttachment,
} from "../../model/generated/kubernetes.ts";
import type { LookUpFailure } from "../../model/look-up-failure.ts";
import { type ClaimBinding, claimFolderName, claimKey } from "../../model/manifest/bind-claims.ts";
import type { CsiObjects } from "../../ports/csi-objects.ts";
import type { HostFiles } from "../../ports/host-files.ts";
import type { Log } from "../../ports/log.ts";
import type { PodEvent } from "../../ports/pod-events.ts";
import type { Claims } from "../volumes/claims.ts";
import type { LocalObjects } from "./local-objects.ts";

/** Lies in the folder of claims, so that nothing removes a folder which no agent made. */
export const claimsMarker = ".berth";

export interface LocalClaimsDeps {
  readonly localObjects: Pick<LocalObjects, "bindings" | "csiDriver">;
  readonly files: Pick<HostFiles, "ensureFolder" | "list" | "writeFile">;
  readonly log: Log;
  /** Where the folders of claims lie. */
  readonly claimsFolder: string;
}

type Bound = Exclude<ClaimBinding, { readonly kind: "none" }>;

/** The claims that lie beside the pods of a node without a cluster, each bound to a volume of theirs or to a folder of the node. */
export class LocalClaims implements Claims {
  readonly #deps: LocalClaimsDeps;

  constructor(deps: LocalClaimsDeps) {
    this.#deps = deps;
  }

  async claim(namespace: string, name: string): Promise<Result<PersistentVolumeClaim, string>> {
    const key = `${namespace}/${name}`;
    const binding = this.#deps.localObjects.bindings.find(({ claim }) => claimKey(claim) === key);
    if (binding === undefined) return err(`persistentvolumeclaims "${name}" not found`);
    if (binding.kind !== "none") return ok(boundClaim(binding));
    return ok({ ...withUid(binding.claim), status: { phase: "Pending" } });
  }

  /** Makes the folder of a claim that has no other volume. One that is there keeps its owner and mode. */
  async persistentVolume(name: string): Promise<Result<PersistentVolume, string>> {
    const { localObjects, claimsFolder } = this.#deps;
    const binding = localObjects.bindings.find(
      (each): each is Bound => each.kind !== "none" && volumeName(each) === name,
    );
    if (binding === undefined) return err(`persistentvolumes "${name}" not found`);
    if (binding.kind === "folder") await this.#ensureFolder(name);
    return ok(boundVolume(binding, `${claimsFolder}/${name}`));
  }

  csiDriver(name: string): CSIDriver {
    return this.#deps.localObjects.csiDriver(name);
  }

  /** Nothing keeps the status of a claim: it follows from the files. */
  async patchStatus(claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    return claim;
  }

  record(claim: PersistentVolumeClaim, event: PodEvent): void {
    this.#log("an event of a claim", { claim: claimKey(claim) }, event);
  }

  recordVolume({ metadata }: PersistentVolume, event: PodEvent): void {
    this.#log("an event of a persistent volume", { volume: metadata?.name }, event);
  }

  #log(text: string, about: object, { type, reason, message }: PodEvent): void {
    const { log } = this.#deps;
    const fields = { ...about, reason, message };
    if (type === "Warning") log.warn(text, fields);
    else log.info(text, fields);
  }

  async #ensureFolder(name: string): Promise<void> {
    const { files, claimsFolder } = this.#deps;
    // Users of the machine do not get in; within it, what a pod may write is its own matter.
    await files.ensureFolder(claimsFolder, 0o700);
    const present = await files.list(claimsFolder);
    if (!present.includes(claimsMarker)) {
      await files.writeFile(`${claimsFolder}/${claimsMarker}`, "", 0o600);
    }
    if (!present.includes(name)) await files.ensureFolder(`${claimsFolder}/${name}`, 0o777);
  }
}

/** What CSI volumes need on a node without a cluster. */
export class LocalCsiObjects implements CsiObjects {
  readonly #localObjects: Pick<LocalObjects, "csiDriver" | "secret">;

  constructor(localObjects: Pick<LocalObjects, "csiDriver" | "secret">) {
    this.#localObjects = localObjects;
  }

  csiDriver(name: string): Result<CSIDriver, string> {
    return ok(this.#localObjects.csiDriver(name));
  }

  async volumeAttachment(name: string): Promise<Result<VolumeAttachment, LookUpFailure>> {
    const message = `volumeattachments.storage.k8s.io "${name}" not found`;
    return err({ code: "not-found", message });
  }

  async secret(namespace: string, name: string): Promise<Result<Secret, LookUpFailure>> {
    return this.#localObjects.secret(namespace, name);
  }
}

/** That of a folder has a "_", as no volume of a manifest can. */
function volumeName(binding: Bound): string {
  if (binding.kind === "folder") return claimFolderName(binding.claim);
  return binding.volume.metadata?.name ?? "";
}

/** An object of a file has no UID unless it is written there; its name does as well. */
function withUid(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const uid = claim.metadata?.uid ?? claimFolderName(claim);
  return { ...claim, metadata: { ...claim.metadata, uid } };
}

function boundClaim(binding: Bound): PersistentVolumeClaim {
  const claim = withUid(binding.claim);
  const { accessModes } = claim.spec ?? {};
  return {
    ...claim,
    spec: { ...claim.spec, volumeName: volumeName(binding) },
    status: { phase: "Bound", accessModes, capacity: capacityOf(binding) },
  };
}

function capacityOf(binding: Bound): Readonly<Record<string, string>> | undefined {
  if (binding.kind === "volume") return binding.volume.spec?.capacity;
  return binding.claim.spec?.resources?.requests;
}

function boundVolume(binding: Bound, path: string): PersistentVolume {
  const { metadata = {} } = withUid(binding.claim);
  const { namespace, name, uid } = metadata;
  const claimRef = { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid };
  const status = { phase: "Bound" };
  if (binding.kind === "volume") {
    return { ...binding.volume, spec: { ...binding.volume.spec, claimRef }, status };
  }
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volumeName(binding) },
    spec: {
      capacity: capacityOf(binding),
      accessModes: binding.claim.spec?.accessModes,
      volumeMode: "Filesystem",
      persistentVolumeReclaimPolicy: "Retain",
      local: { path },
      claimRef,
    },
    status,
  };
}
