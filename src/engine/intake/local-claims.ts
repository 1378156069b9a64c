import { podPluginDirectory } from "../../core/paths/data-paths.ts";
import { localPluginName } from "../../core/storage/local-volume.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type {
  CSIDriver,
  ObjectReference,
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
  /** The agent's data folder, in which claims of pods lie with their pod. */
  readonly rootFolder: string;
  /** Where the folders of claims lie. */
  readonly claimsFolder: string;
}

type Bound = Exclude<ClaimBinding, { readonly kind: "none" }>;
type FolderBinding = Exclude<Bound, { readonly kind: "volume" }>;
type VolumeBinding = Extract<Bound, { readonly kind: "volume" }>;

interface Folder {
  readonly parent: string;
  readonly name: string;
}

/** The claims that lie beside the pods of a node without a cluster, each bound to a volume of theirs or to a folder of the node. */
export class LocalClaims implements Claims {
  readonly origin = "the manifests";
  readonly #deps: LocalClaimsDeps;

  constructor(deps: LocalClaimsDeps) {
    this.#deps = deps;
  }

  async claim(namespace: string, name: string): Promise<Result<PersistentVolumeClaim, string>> {
    const binding = this.#bindingOf(`${namespace}/${name}`);
    if (binding === undefined) return err(`persistentvolumeclaims "${name}" not found`);
    if (binding.kind !== "none") return ok(boundClaim(binding));
    return ok({ ...withUid(binding.claim), status: { phase: "Pending" } });
  }

  whyUnbound(claim: PersistentVolumeClaim): string | undefined {
    const binding = this.#bindingOf(claimKey(claim));
    return binding?.kind === "none" ? `${binding.field}: ${binding.message}` : undefined;
  }

  /** Makes the folder of a claim that has no other volume. One that is there keeps its owner and mode. */
  async persistentVolume(name: string): Promise<Result<PersistentVolume, string>> {
    const binding = this.#deps.localObjects.bindings.find(
      (each): each is Bound => each.kind !== "none" && volumeName(each) === name,
    );
    if (binding === undefined) return err(`persistentvolumes "${name}" not found`);
    if (binding.kind === "volume") return ok(boundByUser(binding));
    const folder = this.#folderOf(binding);
    if (binding.kind === "folder") await this.#markClaims();
    await this.#ensureFolder(folder);
    return ok(folderVolume(binding, `${folder.parent}/${folder.name}`));
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

  #bindingOf(key: string): ClaimBinding | undefined {
    return this.#deps.localObjects.bindings.find(({ claim }) => claimKey(claim) === key);
  }

  #log(text: string, about: object, { type, reason, message }: PodEvent): void {
    const { log } = this.#deps;
    const fields = { ...about, reason, message };
    if (type === "Warning") log.warn(text, fields);
    else log.info(text, fields);
  }

  #folderOf(binding: FolderBinding): Folder {
    const { claimsFolder, rootFolder } = this.#deps;
    if (binding.kind === "folder") return { parent: claimsFolder, name: volumeName(binding) };
    const parent = podPluginDirectory(rootFolder, binding.podUid, localPluginName);
    return { parent, name: binding.volume };
  }

  async #markClaims(): Promise<void> {
    const { files, claimsFolder } = this.#deps;
    await files.ensureFolder(claimsFolder, 0o700);
    const present = await files.list(claimsFolder);
    if (present.includes(claimsMarker)) return;
    await files.writeFile(`${claimsFolder}/${claimsMarker}`, "", 0o600);
  }

  /** Users of the machine do not get in; within it, what a pod may write is its own matter. */
  async #ensureFolder({ parent, name }: Folder): Promise<void> {
    const { files } = this.#deps;
    await files.ensureFolder(parent, 0o700);
    const present = await files.list(parent);
    if (!present.includes(name)) await files.ensureFolder(`${parent}/${name}`, 0o777);
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
  switch (binding.kind) {
    case "folder":
      return claimFolderName(binding.claim);
    case "pod-folder":
      return `${binding.podUid}_${binding.volume}`;
    case "volume":
      return binding.volume.metadata?.name ?? "";
  }
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

function claimReference({ claim }: Bound): ObjectReference {
  const { namespace, name, uid } = withUid(claim).metadata ?? {};
  return { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid };
}

function boundByUser(binding: VolumeBinding): PersistentVolume {
  const { volume } = binding;
  const spec = { ...volume.spec, claimRef: claimReference(binding) };
  return { ...volume, spec, status: { phase: "Bound" } };
}

function folderVolume(binding: FolderBinding, path: string): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volumeName(binding) },
    spec: {
      capacity: capacityOf(binding),
      accessModes: binding.claim.spec?.accessModes,
      volumeMode: "Filesystem",
      persistentVolumeReclaimPolicy: binding.kind === "folder" ? "Retain" : "Delete",
      local: { path },
      claimRef: claimReference(binding),
    },
    status: { phase: "Bound" },
  };
}
