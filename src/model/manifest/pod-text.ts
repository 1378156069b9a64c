import { type JsonNode, nodeText } from "../../lib/json-node.ts";
import { parseJson, type SyntaxProblem } from "../../lib/json-parser.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Pod } from "../pod.ts";
import { decodeObject } from "./decode-object.ts";
import { maxListItems, objectKind } from "./object-kind.ts";
import { type PlacedProblem, unknownFieldProblem } from "./placed-problem.ts";
import { type ManifestProblem, parseStaticPod, type StaticPodPlace } from "./static-pod.ts";

/** Reads the first document of a YAML text; given from outside, since YAML needs a library. */
export type ParseYaml = (text: string) => Result<JsonNode, SyntaxProblem>;

/** The pods of a text, and the fields in it that do not exist and have no effect. */
export interface PodText {
  readonly pods: readonly Pod[];
  readonly unknownFields: readonly PlacedProblem[];
}

/** A manifest's text as one pod, as the kubelet reads it: only the first document counts. */
export function parsePodText(
  text: string,
  place: StaticPodPlace,
  parseYaml: ParseYaml,
): Result<PodText, ManifestProblem> {
  const document = parseDocument(text, parseYaml);
  if (!document.ok) return document;
  const { kind, root } = document.value;
  if (kind === "Pod") return parsePods([root], place);
  const message = `invalid pod: &core.${kind}{...}`;
  return err({ message, isPod: false, field: "kind", at: root.at });
}

/** A manifest's text as a list of pods: all of them or, when one is wrong, none. */
export function parsePodListText(
  text: string,
  place: StaticPodPlace,
  parseYaml: ParseYaml,
): Result<PodText, ManifestProblem> {
  const document = parseDocument(text, parseYaml);
  if (!document.ok) return document;
  const { kind, root } = document.value;
  const entries = root.kind === "object" ? root.entries : [];
  const items = entries.findLast(({ key }) => key === "items")?.value;
  if (kind !== "PodList") {
    const message = `invalid pods list: &core.${kind}{...}`;
    return err({ message, isPod: false, field: "kind", at: root.at });
  }
  if (items === undefined || items.kind === "null") return ok({ pods: [], unknownFields: [] });
  if (items.kind !== "array") {
    const message = `json: cannot unmarshal ${items.kind} into Go struct field PodList.items of type []v1.Pod`;
    return err({ message, isPod: false, field: "items", at: items.at });
  }
  if (items.items.length > maxListItems) {
    const message = `items holds more than ${maxListItems} pods`;
    return err({ message, isPod: false, field: "items", at: items.at });
  }
  return parsePods(items.items, place);
}

function parsePods(
  roots: readonly JsonNode[],
  place: StaticPodPlace,
): Result<PodText, ManifestProblem> {
  const pods: Pod[] = [];
  for (const root of roots) {
    const parsed = parseStaticPod(root, place);
    if (!parsed.ok) return parsed;
    pods.push(parsed.value);
  }
  const unknown = roots.flatMap((root) => decodeObject("Pod", root).unknownFields);
  return ok({ pods, unknownFields: unknown.map(unknownFieldProblem) });
}

interface KindedDocument {
  readonly kind: string;
  readonly root: JsonNode;
}

function parseDocument(
  text: string,
  parseYaml: ParseYaml,
): Result<KindedDocument, ManifestProblem> {
  const isJson = isJsonText(text);
  const root = isJson ? parseJson(text) : parseYaml(text);
  if (!root.ok) {
    const { message, at } = root.error;
    const prefix = isJson ? "couldn't get version/kind; json parse error: " : "";
    return err({ message: `${prefix}${message}`, isPod: false, at });
  }
  const kind = objectKind(root.value, isJson ? text : nodeText(root.value));
  if (!kind.ok) return err({ message: kind.error, isPod: false, at: root.value.at });
  return ok({ kind: kind.value, root: root.value });
}

/** Whether a text is JSON by its first character, so that errors speak of JSON and not of YAML. */
export function isJsonText(text: string): boolean {
  return text.trimStart().startsWith("{");
}

/** The message about a file that holds no pod, or no valid one. */
export function fileProblemMessage(path: string, { isPod, message }: ManifestProblem): string {
  if (isPod) return message;
  return `${path}: couldn't parse as pod(${message}), please check config file`;
}
