import type { JsonNode } from "../lib/json-node.ts";
import { parseJson } from "../lib/json-parser.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { typeOfDocument } from "../model/manifest/object-kind.ts";
import { isJsonText, type ParseYaml } from "../model/manifest/pod-text.ts";

/** What reading YAML needs from outside, since YAML needs a library. */
export interface YamlReader {
  readonly parseYaml: ParseYaml;
  /** Keys that stand twice in one map of the first document, with the lines of their values. */
  readonly listDuplicateKeys: (text: string) => readonly DuplicateKey[];
}

interface DuplicateKey {
  readonly key: string;
  readonly line: number;
}

export interface ConfigDocument {
  readonly root: JsonNode;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Complaints about the document's form that do not keep it from being read. */
  readonly strictErrors: readonly string[];
}

/** A file's text as a document with its kind. */
export function parseConfigDocument(
  text: string,
  { parseYaml, listDuplicateKeys }: YamlReader,
): Result<ConfigDocument, string> {
  const isJson = isJsonText(text);
  const root = isJson ? parseJson(text) : parseYaml(text);
  const interpretation = "couldn't get version/kind; json parse error: ";
  if (!root.ok) return err(`${isJson ? interpretation : ""}${root.error.message}`);
  const type = typeOfDocument(root.value);
  if (!type.ok) return err(`${interpretation}${type.error}`);
  const { apiVersion, kind } = type.value;
  const [first = "", second, ...more] = apiVersion === "/" ? [] : apiVersion.split("/");
  if (more.length > 0) return err(`unexpected GroupVersion string: ${apiVersion}`);
  return ok({
    root: root.value,
    group: second === undefined ? "" : first,
    version: second ?? first,
    kind,
    strictErrors: isJson ? [] : duplicateErrors(listDuplicateKeys(text)),
  });
}

function duplicateErrors(duplicates: readonly DuplicateKey[]): string[] {
  if (duplicates.length === 0) return [];
  const lines = duplicates.map(
    ({ key, line }) => `\n  line ${line}: key ${key} already set in map`,
  );
  return [`yaml: unmarshal errors:${lines.join("")}`];
}
