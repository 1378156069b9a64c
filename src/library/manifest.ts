import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readManifestPath } from "../app/read-manifests.ts";
import { errorText } from "../lib/error-text.ts";
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
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import { BerthError } from "./berth-error.ts";

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

/** The texts of these manifests, each with the name under which its problems are reported. */
export async function readManifests(
  manifests: Manifest | readonly Manifest[],
): Promise<readonly ManifestText[]> {
  const all: readonly Manifest[] = isList(manifests) ? manifests : [manifests];
  const texts = await Promise.all(all.map((one, index) => readOne(one, `manifest ${index + 1}`)));
  return texts.flat();
}

function isList(manifests: Manifest | readonly Manifest[]): manifests is readonly Manifest[] {
  return Array.isArray(manifests);
}

async function readOne(manifest: Manifest, name: string): Promise<readonly ManifestText[]> {
  if (typeof manifest === "string") return [{ path: name, text: manifest }];
  if (!("path" in manifest)) return [{ path: name, text: JSON.stringify(manifest) }];
  const { path } = manifest;
  const folder = resolve(path instanceof URL ? fileURLToPath(path) : path);
  return readManifestPath(folder).catch((error: unknown) => {
    throw new BerthError("invalid-manifest", errorText(error), { cause: error });
  });
}
