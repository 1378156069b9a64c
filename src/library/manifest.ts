import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readManifestPath } from "../app/read-manifests.ts";
import { errorText } from "../lib/error-text.ts";
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import { BerthError } from "./berth-error.ts";
import type { Manifest } from "./manifest-types.ts";

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
