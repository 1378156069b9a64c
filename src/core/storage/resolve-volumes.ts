import { quoteText } from "../../lib/go-text.ts";
import { ownValue } from "../../lib/own-value.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { ephemeralClaimName } from "../../model/ephemeral-claims.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Volume,
} from "../../model/generated/kubernetes.ts";
import type { PodUid } from "../../model/ids.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import {
  isZeroQuantity,
  mustParseQuantity,
  parseQuantity,
  type Quantity,
  quantityValue,
} from "../../model/quantity.ts";
import { podLimits } from "../resource/pod-resources.ts";
import { isLocalEphemeralVolume } from "../stats/disk-stats.ts";
import { csiDriverName } from "./csi/csi-volume.ts";
import { checkEphemeralClaimOwner } from "./ephemeral-claims.ts";
import { findKindOf } from "./kinds/find-kind.ts";
import { type FindCsiDriver, type VolumeTraits, volumeModeOf } from "./kinds/volume-kind.ts";
import { translateToCsi } from "./migration/translate-to-csi.ts";
import { uniqueVolumeName } from "./volume-names.ts";
import { type VolumeSpec, volumeSpecName } from "./volume-spec.ts";

/** What is known of the API's objects; an error is the text of the server or the source that has them. */
export interface VolumeLookups {
  /** What has them, as messages call it: "API server". */
  readonly origin: string;
  claim(namespace: string, name: string): Result<PersistentVolumeClaim, string>;
  persistentVolume(name: string): Result<PersistentVolume, string>;
  /** Only where this node itself binds claims. */
  whyUnbound?(claim: PersistentVolumeClaim): string | undefined;
  readonly csiDriver: FindCsiDriver;
}

/** What holds for a volume whichever pod uses it. */
export interface VolumeNodeFacts extends Pick<VolumeTraits, "attachable" | "deviceMountable"> {
  /** The group that a persistent volume asks the pod's processes to have; empty = none. */
  readonly volumeGidValue: string;
  /** Of a volume on the node's own disk; 0 = no limit. */
  readonly desiredSizeLimitBytes: bigint | undefined;
  /** What the persistent volume has; undefined where it does not say. */
  readonly desiredPersistentVolumeSize: Quantity | undefined;
}

/** A volume that a pod is to have. */
export interface ResolvedVolume extends VolumeTraits, VolumeNodeFacts {
  readonly podUid: PodUid;
  /** Unique on the node. Pods that share a device have the same. */
  readonly volumeName: string;
  /** What the pod calls it: more than one when it names the same claim twice. */
  readonly outerVolumeSpecNames: readonly string[];
  readonly spec: VolumeSpec;
  readonly plugin: string;
  /** The driver of a CSI volume. */
  readonly csiDriver: string | undefined;
  /** As the pod's reference to the claim asks for. */
  readonly readOnly: boolean;
  readonly volumeMode: string;
  /** The claim of a volume that may be expanded: its status has the size that the file system has. */
  readonly claim: PersistentVolumeClaim | undefined;
}

export interface ResolvedVolumes {
  readonly volumes: readonly ResolvedVolume[];
  /** Why others cannot be had, in upstream's words. */
  readonly errors: readonly string[];
}

const claimProtection = "kubernetes.io/pvc-protection";
const groupAnnotation = "pv.beta.kubernetes.io/gid";

/** The volumes that the containers of a pod use, each with the persistent volume behind its claim. */
export function resolveVolumes(pod: Pod, lookups: VolumeLookups): ResolvedVolumes {
  const containers = podContainers(pod).map(({ container }) => container);
  const names = {
    mounts: new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(toName))),
    devices: new Set(containers.flatMap(({ volumeDevices = [] }) => volumeDevices.map(toName))),
  };
  const volumes = new Map<string, ResolvedVolume>();
  const errors: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (!names.mounts.has(volume.name) && !names.devices.has(volume.name)) continue;
    const resolved = resolveVolume(pod, volume, names, lookups);
    if (!resolved.ok) errors.push(resolved.error);
    else addTo(volumes, resolved.value);
  }
  return { volumes: [...volumes.values()], errors };
}

function toName({ name }: { readonly name: string }): string {
  return name;
}

/** How the pod's containers use its volumes. */
interface UsedNames {
  readonly mounts: ReadonlySet<string>;
  readonly devices: ReadonlySet<string>;
}

/** What a pod names twice is one volume, with the newest spec. */
function addTo(volumes: Map<string, ResolvedVolume>, added: ResolvedVolume): void {
  const known = volumes.get(added.volumeName);
  volumes.set(
    added.volumeName,
    known === undefined
      ? added
      : {
          ...added,
          ...nodeFactsOf(added, known),
          outerVolumeSpecNames: [...known.outerVolumeSpecNames, ...added.outerVolumeSpecNames],
        },
  );
}

/** The facts of the first that was resolved, but for the size, which follows every pod that may expand the volume. */
export function nodeFactsOf(
  volume: ResolvedVolume,
  known: VolumeNodeFacts | undefined,
): VolumeNodeFacts {
  const { attachable, deviceMountable, volumeGidValue, desiredSizeLimitBytes } = known ?? volume;
  const sized = volume.claim === undefined ? (known ?? volume) : volume;
  return {
    attachable,
    deviceMountable,
    volumeGidValue,
    desiredSizeLimitBytes,
    desiredPersistentVolumeSize: sized.desiredPersistentVolumeSize,
  };
}

interface Claimed {
  readonly spec: VolumeSpec;
  readonly claim?: PersistentVolumeClaim;
}

function resolveVolume(
  pod: Pod,
  volume: Volume,
  names: UsedNames,
  lookups: VolumeLookups,
): Result<ResolvedVolume, string> {
  const claimed = claimedSpec(pod, volume, lookups);
  if (!claimed.ok) return claimed;
  const translated = translateToCsi(claimed.value.spec, pod.metadata.namespace);
  if (!translated.ok) return translated;
  const spec = translated.value;
  if (claimed.value.claim !== undefined) {
    const checked = checkVolumeMode(spec, volume.name, names);
    if (!checked.ok) return checked;
  }
  const kind = findKindOf(spec, []);
  if (!kind.ok) {
    const shown = quoteText(volumeSpecName(spec));
    return err(
      `failed to get Plugin from volumeSpec for volume ${shown} err=${kind.error.message}`,
    );
  }
  const { plugin } = kind.value;
  const traits = kind.value.traits(spec, lookups.csiDriver);
  const uid = pod.metadata.uid;
  const volumeName = uniqueVolumeName({ kind: kind.value, traits }, spec, uid);
  if (!volumeName.ok) {
    const shown = `${quoteText(volumeSpecName(spec))} using volume plugin ${quoteText(plugin)}`;
    const reason = volumeName.error.message;
    return err(`failed to GetUniqueVolumeNameFromSpec for volumeSpec ${shown} err=${reason}`);
  }
  const readOnly = spec.source === "persistentVolume" && spec.readOnly;
  const mode = volumeModeOf(spec);
  return ok({
    ...traits,
    podUid: uid,
    volumeName: volumeName.value,
    outerVolumeSpecNames: [volume.name],
    spec,
    plugin,
    csiDriver: csiDriverName(spec),
    readOnly,
    volumeMode: mode.ok ? mode.value : "",
    volumeGidValue: groupOf(claimed.value.spec),
    desiredSizeLimitBytes: sizeLimitBytes(pod, spec),
    desiredPersistentVolumeSize: capacityOf(spec),
    claim: readOnly ? undefined : claimed.value.claim,
  });
}

/** The volume itself, or the persistent volume that its claim is bound to. */
function claimedSpec(pod: Pod, volume: Volume, lookups: VolumeLookups): Result<Claimed, string> {
  const { persistentVolumeClaim: reference, ephemeral, name } = volume;
  const isEphemeral = reference === undefined && ephemeral !== undefined;
  if (reference === undefined && !isEphemeral) return ok({ spec: { source: "inline", volume } });
  const { namespace, name: podName } = pod.metadata;
  const claimName = reference?.claimName ?? ephemeralClaimName(podName, name);
  const failed = (reason: string): Result<never, string> =>
    err(`error processing PVC ${namespace}/${claimName}: ${reason}`);
  const claim = boundClaim(lookups.claim(namespace, claimName), lookups);
  if (!claim.ok) return failed(claim.error);
  if (isEphemeral) {
    const owned = checkEphemeralClaimOwner(pod, claim.value);
    if (!owned.ok) return owned;
  }
  const persistentVolume = boundVolume(claim.value, lookups);
  if (!persistentVolume.ok) return failed(persistentVolume.error);
  const readOnly = reference?.readOnly === true;
  return ok({
    spec: { source: "persistentVolume", persistentVolume: persistentVolume.value, readOnly },
    claim: claim.value,
  });
}

function boundClaim(
  found: Result<PersistentVolumeClaim, string>,
  lookups: VolumeLookups,
): typeof found {
  if (!found.ok) return err(`failed to fetch PVC from ${lookups.origin}: ${found.error}`);
  const { metadata, spec, status } = found.value;
  // A protected claim stays until its pods are gone, so that those which run already go on.
  const isProtected = metadata?.finalizers?.includes(claimProtection) === true;
  if (metadata?.deletionTimestamp !== undefined && !isProtected) return err("PVC is being deleted");
  if (status?.phase !== "Bound") {
    const reason = lookups.whyUnbound?.(found.value);
    return err(reason === undefined ? "PVC is not bound" : `PVC is not bound: ${reason}`);
  }
  if ((spec?.volumeName ?? "") === "") return err("PVC has empty pvc.Spec.VolumeName");
  return found;
}

function boundVolume(
  { metadata, spec }: PersistentVolumeClaim,
  lookups: VolumeLookups,
): Result<PersistentVolume, string> {
  const name = spec?.volumeName ?? "";
  const found = lookups.persistentVolume(name);
  if (!found.ok) return err(`failed to fetch PV ${name} from ${lookups.origin}: ${found.error}`);
  const reference = found.value.spec?.claimRef;
  if (reference === undefined) {
    return err(
      `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  const { uid = "" } = reference;
  const claimUid = metadata?.uid ?? "";
  if (uid === claimUid) return found;
  return err(
    `found PV object ${name} but its pv.Spec.ClaimRef.UID ${uid} does not point to claim.UID ${claimUid}`,
  );
}

/** Containers must use a claimed volume as what it is. */
function checkVolumeMode(
  spec: VolumeSpec,
  name: string,
  { mounts, devices }: UsedNames,
): Result<void, string> {
  const mode = volumeModeOf(spec);
  if (!mode.ok) return err(mode.error.message);
  if (mounts.has(name) && mode.value !== "Filesystem") {
    return err(`volume ${name} has volumeMode ${mode.value}, but is specified in volumeMounts`);
  }
  if (devices.has(name) && mode.value !== "Block") {
    return err(`volume ${name} has volumeMode ${mode.value}, but is specified in volumeDevices`);
  }
  return ok(undefined);
}

function groupOf(spec: VolumeSpec): string {
  if (spec.source === "inline") return "";
  return ownValue(spec.persistentVolume.metadata?.annotations, groupAnnotation) ?? "";
}

function capacityOf(spec: VolumeSpec): Quantity | undefined {
  if (spec.source === "inline") return undefined;
  const text = ownValue(spec.persistentVolume.spec?.capacity, "storage");
  const size = text === undefined ? undefined : parseQuantity(text);
  return size?.ok === true && !isZeroQuantity(size.value) ? size.value : undefined;
}

/** The smaller of the pod's limit for local storage and the volume's own. */
function sizeLimitBytes(pod: Pod, spec: VolumeSpec): bigint | undefined {
  if (spec.source !== "inline" || !isLocalEphemeralVolume(spec.volume)) return undefined;
  const podLimit = podLimits(pod).get("ephemeral-storage");
  const podBytes = podLimit === undefined ? 0n : quantityValue(podLimit);
  const own = spec.volume.emptyDir?.sizeLimit;
  const ownBytes = own === undefined ? 0n : quantityValue(mustParseQuantity(own));
  if (ownBytes <= 0n) return podBytes;
  return podBytes === 0n || ownBytes < podBytes ? ownBytes : podBytes;
}
