import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type FieldSubscript, splitSubscript } from "../../model/field-subscript.ts";
import { labelKeyProblems } from "../../model/name-format.ts";
import type { Pod } from "../../model/pod.ts";
import { podFieldLabels } from "../../model/pod-field-labels.ts";

/** The field path of a reference in today's words; refused when a pod cannot refer to it. */
export function parseFieldPath(apiVersion: string, fieldPath: string): Result<string, string> {
  if (apiVersion !== "v1") return err(`unsupported pod version: ${apiVersion}`);
  const subscripted = splitSubscript(fieldPath);
  if (subscripted !== undefined) {
    return subscripted.path === "metadata.annotations" || subscripted.path === "metadata.labels"
      ? ok(fieldPath)
      : err(`field label does not support subscript: ${fieldPath}`);
  }
  if (fieldPath === "spec.host") return ok("spec.nodeName");
  return podFieldLabels.has(fieldPath)
    ? ok(fieldPath)
    : err(`field label not supported: ${fieldPath}`);
}

/** The text of a metadata field: a whole map as sorted lines, or one entry of it. */
export function metadataField(pod: Pod, fieldPath: string): Result<string, string> {
  const { annotations = {}, labels = {}, name, namespace, uid } = pod.metadata;
  const subscripted = splitSubscript(fieldPath);
  if (subscripted !== undefined) return metadataEntry(pod, fieldPath, subscripted);
  switch (fieldPath) {
    case "metadata.annotations":
      return ok(formatMap(annotations));
    case "metadata.labels":
      return ok(formatMap(labels));
    case "metadata.name":
      return ok(name);
    case "metadata.namespace":
      return ok(namespace);
    case "metadata.uid":
      return ok(uid);
    default:
      return err(`unsupported fieldPath: ${fieldPath}`);
  }
}

function metadataEntry(
  pod: Pod,
  fieldPath: string,
  { path, key }: FieldSubscript,
): Result<string, string> {
  const { annotations = {}, labels = {} } = pod.metadata;
  const isAnnotation = path === "metadata.annotations";
  if (!isAnnotation && path !== "metadata.labels") {
    return err(`fieldPath ${quoteText(fieldPath)} does not support subscript`);
  }
  const problems = labelKeyProblems(isAnnotation ? key.toLowerCase() : key);
  if (problems.length > 0) {
    return err(`invalid key subscript in ${fieldPath}: ${problems.join(";")}`);
  }
  const entries = isAnnotation ? annotations : labels;
  return ok(Object.hasOwn(entries, key) ? (entries[key] ?? "") : "");
}

function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.entries(map)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${quoteText(value)}`)
    .join("\n");
}
