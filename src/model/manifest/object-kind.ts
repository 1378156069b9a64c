import { quoteText } from "../../lib/go-text.ts";
import type { JsonNode } from "../../lib/json-node.ts";
import { err, ok, type Result } from "../../lib/result.ts";

/** What one list may hold: far more than a node has pods. */
export const maxListItems = 1000;

const scheme = "pkg/api/legacyscheme/scheme.go:30";

// Kinds of the core group that a manifest can hold by mistake: they are known, but not pods.
const coreKinds: ReadonlySet<string> = new Set([
  ...[
    "Binding",
    "ComponentStatus",
    "ConfigMap",
    "Endpoints",
    "Event",
    "LimitRange",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
  ].flatMap((kind) => (kind === "Binding" ? [kind] : [kind, `${kind}List`])),
  "List",
  "NodeProxyOptions",
  "PodAttachOptions",
  "PodExecOptions",
  "PodLogOptions",
  "PodPortForwardOptions",
  "PodProxyOptions",
  "PodStatusResult",
  "RangeAllocation",
  "ServiceProxyOptions",
]);

/** The kind that a document says to be, if the core group has it, or it is one of `others`: "group/version kind". */
export function objectKind(
  root: JsonNode,
  text: string,
  others: readonly string[] = [],
): Result<string, string> {
  const found = typeOfDocument(root);
  if (!found.ok) return err(`couldn't get version/kind; json parse error: ${found.error}`);
  const { apiVersion, kind } = found.value;
  if (apiVersion.split("/").length > 2) {
    return err(`unexpected GroupVersion string: ${apiVersion}`);
  }
  const version = apiVersion === "/" ? "" : apiVersion.slice(apiVersion.indexOf("/") + 1);
  if (kind === "") return err(`Object 'Kind' is missing in '${text}'`);
  if (version === "") return err(`Object 'apiVersion' is missing in '${text}'`);
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  if (group === "" && version === "v1" && coreKinds.has(kind)) return ok(kind);
  const full = group === "" ? version : `${group}/${version}`;
  if (others.includes(`${full} ${kind}`)) return ok(kind);
  return err(
    `no kind ${quoteText(kind)} is registered for version ${quoteText(full)} in scheme ${quoteText(scheme)}`,
  );
}

const missingIn = " is missing in '";

/**
 * A message without the document that upstream repeats in it where kind or apiVersion is missing: that may be a Secret,
 * or a configuration with credentials.
 */
export function withoutDocument(message: string): string {
  const start = message.indexOf(missingIn);
  if (start < 0) return message;
  return `${message.slice(0, start)} is missing${message.slice(message.lastIndexOf("'") + 1)}`;
}

interface DocumentType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The two fields that every object has; here, and only here, the case of names does not matter. */
export function typeOfDocument(root: JsonNode): Result<DocumentType, string> {
  if (root.kind === "null") return ok({ apiVersion: "", kind: "" });
  if (root.kind !== "object") {
    const target =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    return err(`json: cannot unmarshal ${root.kind} into Go value of type ${target}`);
  }
  const found = { apiVersion: "", kind: "" };
  let wrong: string | undefined;
  for (const { key, value } of root.entries) {
    const name = key.toLowerCase() === "apiversion" ? "apiVersion" : key.toLowerCase();
    if (name !== "apiVersion" && name !== "kind") continue;
    if (value.kind === "string") found[name] = value.value;
    else if (value.kind !== "null") {
      wrong ??= `json: cannot unmarshal ${value.kind} into Go struct field .${name} of type string`;
    }
  }
  return wrong === undefined ? ok(found) : err(wrong);
}
