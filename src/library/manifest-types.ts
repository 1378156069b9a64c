import type {
  ConfigMap,
  CSIDriver,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  PodSpec,
  RuntimeClass,
  Secret,
} from "../model/generated/kubernetes.ts";

export interface PodManifest {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
}

interface Typed<Version extends string, Kind extends string> {
  readonly apiVersion: Version;
  readonly kind: Kind;
}

/** An object that a node takes. */
export type ManifestObject =
  | PodManifest
  | (ConfigMap & Typed<"v1", "ConfigMap">)
  | (Secret & Typed<"v1", "Secret">)
  | (PersistentVolumeClaim & Typed<"v1", "PersistentVolumeClaim">)
  | (PersistentVolume & Typed<"v1", "PersistentVolume">)
  | (RuntimeClass & Typed<"node.k8s.io/v1", "RuntimeClass">)
  | (CSIDriver & Typed<"storage.k8s.io/v1", "CSIDriver">);

/** A manifest, or a folder of manifests. */
export interface ManifestPath {
  readonly path: string | URL;
}

/** Text (YAML or JSON, several documents, Lists), an object, or a path. */
export type Manifest = string | ManifestObject | ManifestPath;
