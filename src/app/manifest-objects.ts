// Manifests taken apart into single objects, each of which can be put on a node and taken from it alone.
import { parseFile } from "../drivers/manifest/parse-file.ts";
import { childNode, type JsonNode, nodeText } from "../lib/json-node.ts";
import { parseJson } from "../lib/json-parser.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { parseYamlDocuments } from "../lib/yaml/parse-yaml.ts";
import type { ManifestText } from "../model/manifest/manifest-text.ts";
import { isJsonText } from "../model/manifest/pod-text.ts";
import type { Pod } from "../model/pod.ts";
import type { SourceProblem } from "../ports/pod-source.ts";

export interface ManifestObject {
  /** The file that holds this object alone: one name for one object. */
  readonly fileName: string;
  readonly text: string;
  readonly isPod: boolean;
}

const clusterScoped: ReadonlySet<string> = new Set([
  "PersistentVolume",
  "RuntimeClass",
  "CSIDriver",
]);

/** The objects of a manifest, YAML or JSON, or all that is wrong with it. */
export function splitManifest(
  manifest: ManifestText,
  nodeName: string,
): Result<readonly ManifestObject[], readonly SourceProblem[]> {
  const parsed = parseFile(manifest, nodeName, "up");
  if (!parsed.ok) return err(parsed.error);
  const documents = isJsonText(manifest.text)
    ? [parseJson(manifest.text)]
    : parseYamlDocuments(manifest.text, { areKeysUnique: true });
  return ok(documents.flatMap((document) => (document.ok ? objectsOf(document.value) : [])));
}

/** The pod that a node makes of the file of one. */
export function podOfFile(file: ManifestText, nodeName: string): Pod | undefined {
  const parsed = parseFile(file, nodeName, "up");
  return parsed.ok ? parsed.value.pods[0] : undefined;
}

function objectsOf(root: JsonNode): readonly ManifestObject[] {
  const kind = textAt(root, "kind");
  if (kind === undefined) return [];
  if (kind === "List") {
    const items = childNode(root, "items");
    return items?.kind === "array" ? items.items.flatMap(objectsOf) : [];
  }
  const metadata = childNode(root, "metadata");
  const namespace = textAt(metadata, "namespace") ?? "default";
  const fileName = objectFileName({ kind, namespace, name: textAt(metadata, "name") ?? "" });
  return [{ fileName, text: nodeText(root), isPod: kind === "Pod" }];
}

interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export function objectFileName({ kind, namespace, name }: ObjectName): string {
  const parts = clusterScoped.has(kind) ? [kind, name] : [kind, namespace, name];
  // A dot is part of names; an underscore never is.
  return `${parts.map(encodeURIComponent).join("_")}.json`.toLowerCase();
}

function textAt(node: JsonNode | undefined, key: string): string | undefined {
  const value = childNode(node, key);
  return value?.kind === "string" && value.value !== "" ? value.value : undefined;
}
