import { quoteText } from "../lib/go-text.ts";
import type { JsonNode } from "../lib/json-node.ts";
import { joinPath } from "../lib/path.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { parseConfigDocument, type YamlReader } from "./config-document.ts";
import { decodeConfig } from "./decode/decode-config.ts";
import { defaultConfig } from "./default-config.ts";
import { encodeConfig } from "./encode-config.ts";
import type { FeatureGateState } from "./feature-gates.ts";
import type { KubeletConfiguration } from "./generated/kubelet-configuration.ts";
import { type ConfigFailure, type ConfigFile, configVersion } from "./load-config.ts";
import { mergePatch } from "./merge-patch.ts";

/** A --config-dir as it was read: its files by their paths below it, in any order. */
export interface DropInFolder {
  readonly path: string;
  readonly files: readonly ConfigFile[];
}

interface MergedConfig {
  readonly config: KubeletConfiguration;
  /** Files of the folder whose names are not those of drop-ins; paths below it. */
  readonly skipped: readonly string[];
}

type ObjectNode = JsonNode & { kind: "object" };

/** The configuration with every drop-in merged into it, file after file, and defaults where they took something away. */
export function mergeDropIns(
  base: KubeletConfiguration,
  folder: DropInFolder,
  yaml: YamlReader,
  gates: FeatureGateState,
): Result<MergedConfig, ConfigFailure> {
  let document: ObjectNode = encodeConfig(base);
  const skipped: string[] = [];
  for (const { path, text } of folder.files.toSorted(byWalk)) {
    const full = joinPath(folder.path, path);
    if (!path.endsWith(".conf")) {
      skipped.push(path);
      continue;
    }
    const patch = parseDropIn({ path: full, text }, yaml);
    if (!patch.ok) {
      const where = `failed to walk through kubelet dropin directory ${quoteText(folder.path)}`;
      const file = `failed to load kubelet dropin file, path: ${full}`;
      return err({ kind: "file", message: `${where}: ${file}, ${patch.error}` });
    }
    document = mergePatch(document, patch.value);
  }
  const decoded = decodeConfig(document, "anyCase");
  if (!decoded.ok) {
    const message = `failed to unmarshal merged JSON into kubelet configuration: ${decoded.error}`;
    return err({ kind: "file", message });
  }
  const config = defaultConfig(decoded.value.config, gates);
  if (!config.ok) return err({ kind: "featureGates", message: config.error });
  return ok({ config: config.value, skipped });
}

/** The order in which a folder is walked: names within a folder sorted, a folder's content in its place. */
function byWalk(a: ConfigFile, b: ConfigFile): number {
  const left = a.path.split("/");
  const right = b.path.split("/");
  for (const [index, name] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (name !== other) return name < other ? -1 : 1;
  }
  return left.length - right.length;
}

function parseDropIn({ path, text }: ConfigFile, yaml: YamlReader): Result<ObjectNode, string> {
  if (text === "") return err(`error: kubelet config file ${quoteText(path)} was empty`);
  const document = parseConfigDocument(text, yaml);
  if (!document.ok) return err(`error: ${document.error}`);
  const { root, strictErrors } = document.value;
  const kind = textOf(root, "kind");
  if (root.kind !== "object" || kind === "") {
    return err(`error: Object 'Kind' is missing in '${text}'`);
  }
  const strict = [...strictErrors, ...repeatedFields(root, "")];
  if (strict.length > 0) return err(`error: strict decoding error: ${strict.join(", ")}`);
  const apiVersion = textOf(root, "apiVersion");
  if (apiVersion === configVersion && kind === "KubeletConfiguration") return ok(root);
  const [group, version] = splitVersion(apiVersion);
  return err(`unknown apiVersion/kind: ${group}/${version}, Kind=${kind}`);
}

function textOf(root: JsonNode, name: string): string {
  const entries = root.kind === "object" ? root.entries : [];
  const value = entries.findLast(({ key }) => key === name)?.value;
  return value?.kind === "string" ? value.value : "";
}

function splitVersion(apiVersion: string): readonly [group: string, version: string] {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

function repeatedFields(node: JsonNode, path: string): readonly string[] {
  if (node.kind === "array") {
    return node.items.flatMap((item, index) => repeatedFields(item, `${path}[${index}]`));
  }
  if (node.kind !== "object") return [];
  const seen = new Set<string>();
  return node.entries.flatMap(({ key, value }) => {
    const inner = path === "" ? key : `${path}.${key}`;
    const repeated = seen.has(key) ? [`duplicate field ${quoteText(inner)}`] : [];
    seen.add(key);
    return [...repeated, ...repeatedFields(value, inner)];
  });
}
