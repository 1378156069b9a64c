// Claims, persistent volumes and CSI drivers of a node without a cluster.
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSpec,
} from "../generated/kubernetes.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  word,
} from "./field-error.ts";
import { validateObjectMeta } from "./object-meta.ts";
import {
  validateAccessModes,
  validateClaimSpec,
  validateStorage,
  volumeModes,
} from "./volume-claims.ts";

export function validateClaim({ metadata = {}, spec = {} }: PersistentVolumeClaim): FieldError[] {
  return [...validateObjectMeta(metadata, "metadata"), ...validateClaimSpec(spec, "spec")];
}

/** Those that can be mounted here. */
const sources = ["csi", "fc", "hostPath", "iscsi", "local", "nfs"] as const;

const otherSources: readonly (keyof PersistentVolumeSpec)[] = [
  "awsElasticBlockStore",
  "azureDisk",
  "azureFile",
  "cephfs",
  "cinder",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "glusterfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
];

export function validatePersistentVolume({
  metadata = {},
  spec = {},
}: PersistentVolume): FieldError[] {
  const { accessModes = [], volumeMode, persistentVolumeReclaimPolicy: policy } = spec;
  const errors = [
    ...validateClusterMeta(metadata),
    ...(accessModes.length === 0 ? [required("spec.accessModes")] : []),
    ...validateAccessModes(accessModes, "spec.accessModes"),
    ...validateStorage(spec.capacity?.["storage"], "spec.capacity[storage]"),
    ...validateSource(spec),
  ];
  if (volumeMode !== undefined && !volumeModes.includes(volumeMode)) {
    errors.push(notSupported("spec.volumeMode", word(volumeMode), volumeModes));
  }
  if (policy !== undefined && policy !== "Retain") {
    const detail = "without a cluster nothing deletes what a volume holds: use Retain";
    errors.push(invalid("spec.persistentVolumeReclaimPolicy", policy, detail));
  }
  return errors;
}

function validateSource(spec: PersistentVolumeSpec): FieldError[] {
  const errors = otherSources
    .filter((name) => spec[name] !== undefined)
    .map((name) =>
      forbidden(`spec.${name}`, `cannot be mounted without a cluster: use ${sources.join(", ")}`),
    );
  const [first, second] = sources.filter((name) => spec[name] !== undefined);
  if (first === undefined && errors.length === 0) {
    errors.push(required("spec", `must have one of ${sources.join(", ")}`));
  }
  if (second !== undefined) {
    errors.push(forbidden(`spec.${second}`, "may not specify more than 1 volume type"));
  }
  for (const name of ["hostPath", "local"] as const) {
    const path = spec[name]?.path;
    if (path === undefined) continue;
    if (path === "") errors.push(required(`spec.${name}.path`));
    else if (path.split("/").includes("..")) {
      errors.push(invalid(`spec.${name}.path`, path, "must not contain '..'"));
    }
  }
  if (spec.csi?.driver === "") errors.push(required("spec.csi.driver"));
  if (spec.csi?.volumeHandle === "") errors.push(required("spec.csi.volumeHandle"));
  return errors;
}

export function validateCsiDriver({ metadata = {} }: CSIDriver): FieldError[] {
  return validateClusterMeta(metadata);
}

/** Of an object that is in no namespace. */
function validateClusterMeta(metadata: NonNullable<PersistentVolume["metadata"]>): FieldError[] {
  const errors = validateObjectMeta({ ...metadata, namespace: "default" }, "metadata");
  if (metadata.namespace === undefined) return errors;
  return [...errors, forbidden("metadata.namespace", "not allowed on this type")];
}
