// `berth plan`: what would be done with a manifest here, without doing it.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { admitPod } from "../core/admission/admit-pod.ts";
import type { Step } from "../core/pod/step.ts";
import { computeQosClass } from "../core/resource/qos.ts";
import { DefinedNames } from "../drivers/manifest/defined-names.ts";
import { type ManifestFile, readManifestFolder } from "../drivers/manifest/manifest-folder.ts";
import { type JsonNode, nodeText } from "../lib/json-node.ts";
import { parseJson } from "../lib/json-parser.ts";
import { parseJsonText } from "../lib/json-text.ts";
import { parseYamlDocuments } from "../lib/yaml/parse-yaml.ts";
import { ignoredFields } from "../model/fields/ignored-fields.ts";
import { usedFields } from "../model/fields/used-fields.ts";
import type { ConfigMap, PodSpec, RuntimeClass, Secret } from "../model/generated/kubernetes.ts";
import type { RehearsedPod } from "../model/holding.ts";
import { claimKey } from "../model/manifest/bind-claims.ts";
import { type ObjectSet, parseObjectSet } from "../model/manifest/object-set.ts";
import { isJsonText } from "../model/manifest/pod-text.ts";
import type { StaticPodPlace } from "../model/manifest/static-pod.ts";
import { type Pod, podKey } from "../model/pod.ts";
import { configSourceAnnotation } from "../model/pod-source.ts";
import type { SourceProblem } from "../ports/pod-source.ts";
import { type FieldChange, fieldChanges } from "./field-changes.ts";
import { defaultNodeName, describeAdmission } from "./node-facts.ts";
import { plainNodeSettings } from "./node-options.ts";
import { missingPath } from "./read-problem.ts";
import { rehearsePod } from "./rehearse-pod.ts";
import { parseSecurity } from "./security-options.ts";

export interface PlanManifestOptions {
  /** A manifest or a folder of them. */
  readonly path: string;
  readonly dataDir: string;
  readonly nodeName?: string | undefined;
}

export interface ManifestPlan {
  readonly files: readonly FilePlan[];
  /** What a folder holds beside manifests. */
  readonly ignored: readonly string[];
}

export interface FilePlan {
  readonly path: string;
  readonly documents: readonly DocumentPlan[];
}

export type DocumentPlan =
  | { readonly kind: "refused"; readonly problems: readonly SourceProblem[] }
  /** Right by itself, but there is one of its name before it; what else is in its file runs. */
  | { readonly kind: "doubled"; readonly problems: readonly SourceProblem[] }
  | {
      readonly kind: "pod";
      readonly line: number;
      readonly pod: Pod;
      readonly qosClass: string;
      /** What the pod has that its document does not say, or says otherwise. */
      readonly changes: readonly FieldChange[];
      /** What the document says that has no effect: on any node, or on this one yet. */
      readonly ignored: readonly IgnoredUse[];
      /** Why this node would not run it even though it is valid. */
      readonly rejection?: RehearsedPod["refusal"];
      readonly steps: readonly Step[];
      /** What its containers get for themselves; absent where they ask for nothing of the kind. */
      readonly allotment?: Allotment | undefined;
    }
  | {
      readonly kind: "runtime-class";
      readonly line: number;
      readonly name: string;
      readonly handler: string;
    }
  | {
      readonly kind: "storage";
      readonly line: number;
      readonly type: "PersistentVolumeClaim" | "PersistentVolume" | "CSIDriver";
      /** With its namespace, if it has one. */
      readonly name: string;
    }
  | {
      readonly kind: "object";
      readonly line: number;
      readonly type: "ConfigMap" | "Secret";
      readonly namespace: string;
      readonly name: string;
      readonly keys: readonly string[];
    };

type Allotment =
  | ({ readonly kind: "known" } & Pick<RehearsedPod, "holdings" | "makesRoom">)
  | { readonly kind: "unknown"; readonly because: string };

interface IgnoredUse {
  readonly field: string;
  readonly reason: string;
}

/** Rejects when the path cannot be read; what is wrong in a file is part of the answer. */
export async function planManifest(options: PlanManifestOptions): Promise<ManifestPlan> {
  const path = resolve(options.path);
  const content = await readManifestFolder(path, "yamlAndJson");
  if (content.kind === "missing") throw new Error(missingPath(options.path));
  const nodeName = options.nodeName ?? defaultNodeName();
  const unreadable = content.unreadable.map(
    ({ path: origin, message }): FilePlan => ({
      path: origin,
      documents: [{ kind: "refused", problems: [{ origin, message }] }],
    }),
  );
  const inOrder = content.files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const files = withoutDoubles(inOrder.map((file) => planFile(file, nodeName, options.dataDir)));
  return { files: [...files, ...unreadable], ignored: content.ignored };
}

/** As the agent does it: the first of a name counts, and a file that is refused defines nothing. */
function withoutDoubles(files: readonly FilePlan[]): readonly FilePlan[] {
  const names = new DefinedNames();
  return files.map((file) => {
    if (file.documents.some(({ kind }) => kind === "refused")) return file;
    const documents = file.documents.map((document): DocumentPlan => {
      const name = nameOf(document);
      const message = name && names.define(name.kind, name.key, file.path);
      if (name === undefined || message === undefined) return document;
      const { line } = name;
      const problem = { origin: file.path, line, field: "metadata.name", message };
      return { kind: "doubled", problems: [problem] };
    });
    return { ...file, documents };
  });
}

function nameOf(
  document: DocumentPlan,
): { readonly kind: string; readonly key: string; readonly line: number } | undefined {
  switch (document.kind) {
    case "pod":
      return { kind: "Pod", key: podKey(document.pod), line: document.line };
    case "runtime-class":
      return { kind: "RuntimeClass", key: document.name, line: document.line };
    case "storage":
      return { kind: document.type, key: document.name, line: document.line };
    case "object": {
      const { type, namespace, name, line } = document;
      return { kind: type, key: `${namespace}/${name}`, line };
    }
    case "refused":
    case "doubled":
      return undefined;
    default:
      return document satisfies never;
  }
}

function planFile({ path, text }: ManifestFile, nodeName: string, dataDir: string): FilePlan {
  const documents = isJsonText(text)
    ? [parseJson(text)]
    : parseYamlDocuments(text, { areKeysUnique: true });
  const place: StaticPodPlace = {
    nodeName,
    origin: { kind: "file", path },
    allowedReferences: "configMapsAndSecrets",
    isResizable: true,
  };
  return {
    path,
    documents: documents.flatMap((document): readonly DocumentPlan[] => {
      if (document.ok)
        return itemsOf(document.value).map((one) => planDocument(one, place, dataDir));
      const { message, at } = document.error;
      return [{ kind: "refused", problems: [{ origin: path, ...at, message }] }];
    }),
  };
}

/** A List stands for its items; an empty document for nothing. */
function itemsOf(root: JsonNode): readonly JsonNode[] {
  if (root.kind === "null") return [];
  if (root.kind !== "object") return [root];
  const field = (name: string) => root.entries.findLast(({ key }) => key === name)?.value;
  const kind = field("kind");
  const items = field("items");
  if (kind?.kind !== "string" || kind.value !== "List" || items?.kind !== "array") return [root];
  return items.items.flatMap(itemsOf);
}

function planDocument(root: JsonNode, place: StaticPodPlace, dataDir: string): DocumentPlan {
  const { pods, configMaps, secrets, runtimeClasses, problems, ...storage } = parseObjectSet(
    [root],
    place,
  );
  const origin = place.origin.kind === "file" ? place.origin.path : place.origin.url;
  if (problems.length > 0) {
    const placed = problems.map(({ message, field, at }) => ({ origin, ...at, field, message }));
    return { kind: "refused", problems: placed };
  }
  const [pod] = pods;
  if (pod !== undefined) return planPodDocument(root, pod, place.nodeName, dataDir);
  const [configMap] = configMaps;
  if (configMap !== undefined) return describeObject(root, "ConfigMap", configMap);
  const [secret] = secrets;
  if (secret !== undefined) return describeObject(root, "Secret", secret);
  const [runtimeClass] = runtimeClasses;
  if (runtimeClass !== undefined) return describeRuntimeClass(root, runtimeClass);
  const described = describeStorage(root, storage);
  if (described !== undefined) return described;
  return { kind: "refused", problems: [{ origin, ...root.at, message: "nothing that can run" }] };
}

function planPodDocument(
  root: JsonNode,
  pod: Pod,
  nodeName: string,
  dataDir: string,
): DocumentPlan {
  const { status: _, ...asked } = pod;
  const facts = describeAdmission(
    plainNodeSettings(nodeName, { name: "containerd", features: undefined }),
    existsSync(dataDir) ? dataDir : "/",
    { sysctls: parseSecurity({}).sysctls, fieldRules: "strict" },
  );
  const admission = admitPod(asTaken(pod), [], facts).result;
  const document: unknown = parseJsonText(nodeText(root));
  return {
    kind: "pod",
    line: root.at.line,
    pod,
    qosClass: computeQosClass(pod),
    changes: fieldChanges(document, asked),
    ignored: [...ignoredUses(document), ...unenforcedLimits(pod.spec)],
    rejection: admission.admit ? undefined : admission,
    steps: rehearsePod(pod),
  };
}

/** The mux marks where a pod comes from, which makes it a static one to admission. */
export function asTaken(pod: Pod): Pod {
  const annotations = { ...pod.metadata.annotations, [configSourceAnnotation]: "file" };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

function describeRuntimeClass(root: JsonNode, { metadata, handler }: RuntimeClass): DocumentPlan {
  const name = metadata?.name ?? "";
  return { kind: "runtime-class", line: root.at.line, name, handler };
}

function describeStorage(
  root: JsonNode,
  {
    claims: [claim],
    persistentVolumes: [volume],
    csiDrivers: [driver],
  }: Pick<ObjectSet, "claims" | "persistentVolumes" | "csiDrivers">,
): DocumentPlan | undefined {
  const { line } = root.at;
  if (claim !== undefined) {
    return { kind: "storage", line, type: "PersistentVolumeClaim", name: claimKey(claim) };
  }
  if (volume !== undefined) {
    return { kind: "storage", line, type: "PersistentVolume", name: volume.metadata?.name ?? "" };
  }
  if (driver === undefined) return undefined;
  return { kind: "storage", line, type: "CSIDriver", name: driver.metadata?.name ?? "" };
}

/** What is filled in by default is not what the document asks for. */
function ignoredUses(document: unknown): readonly IgnoredUse[] {
  const { spec } = document as Partial<Pod>;
  if (spec === undefined) return [];
  return usedFields(spec).flatMap(({ name, path }) => {
    const reason = ignoredFields.get(name);
    return reason === undefined ? [] : [{ field: path, reason }];
  });
}

function describeObject(
  root: JsonNode,
  type: "ConfigMap" | "Secret",
  { metadata, data }: ConfigMap | Secret,
): DocumentPlan {
  return {
    kind: "object",
    line: root.at.line,
    type,
    namespace: metadata?.namespace ?? "default",
    name: metadata?.name ?? "",
    keys: Object.keys(data ?? {}),
  };
}

const reason = "not enforced: it takes the eviction of pods, which this node does not do yet";
const storage = "ephemeral-storage";

/** Limits of disk space, which only an eviction could enforce. */
function unenforcedLimits(spec: PodSpec): readonly IgnoredUse[] {
  const volumes = (spec.volumes ?? []).flatMap(({ emptyDir }, index) =>
    emptyDir?.sizeLimit !== undefined && (emptyDir.medium ?? "") === ""
      ? [`spec.volumes[${index}].emptyDir.sizeLimit`]
      : [],
  );
  const containers = (["initContainers", "containers"] as const).flatMap((list) =>
    (spec[list] ?? []).flatMap(({ resources }, index) =>
      resources?.limits?.[storage] === undefined
        ? []
        : [`spec.${list}[${index}].resources.limits.${storage}`],
    ),
  );
  return [...volumes, ...containers].map((field) => ({ field, reason }));
}
