// What would be done with manifests on a node: from texts and plain facts alone.
import { type JsonNode, nodeText } from "../../lib/json-node.ts";
import { parseJson } from "../../lib/json-parser.ts";
import { parseJsonText } from "../../lib/json-text.ts";
import { parseYamlDocuments } from "../../lib/yaml/parse-yaml.ts";
import { ignoredFields } from "../../model/fields/ignored-fields.ts";
import { usedFields } from "../../model/fields/used-fields.ts";
import type { ConfigMap, PodSpec, RuntimeClass, Secret } from "../../model/generated/kubernetes.ts";
import { claimKey } from "../../model/manifest/bind-claims.ts";
import { DefinedNames } from "../../model/manifest/defined-names.ts";
import {
  type ManifestText,
  maxManifestBytes,
  tooLarge,
} from "../../model/manifest/manifest-text.ts";
import { type ObjectSet, parseObjectSet } from "../../model/manifest/object-set.ts";
import { isJsonText } from "../../model/manifest/pod-text.ts";
import type { StaticPodPlace } from "../../model/manifest/static-pod.ts";
import { type Pod, podKey } from "../../model/pod.ts";
import { configSourceAnnotation } from "../../model/pod-source.ts";
import { type AdmissionFacts, admitPod } from "../admission/admit-pod.ts";
import { computeQosClass } from "../resource/qos.ts";
import { fieldChanges } from "./field-changes.ts";
import type { DocumentPlan, FilePlan, IgnoredUse } from "./manifest-plan.ts";
import { rehearsePod } from "./rehearse-pod.ts";

/** The node that they would run on. */
export interface PlanFacts {
  readonly nodeName: string;
  readonly admission: AdmissionFacts;
  /** The pods that run there already. */
  readonly pods: readonly Pod[];
}

/** In the order of the manifests. */
export function planManifests(
  manifests: readonly ManifestText[],
  facts: PlanFacts,
): readonly FilePlan[] {
  return withoutDoubles(manifests.map((manifest) => planFile(manifest, facts)));
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

function planFile({ path, text }: ManifestText, facts: PlanFacts): FilePlan {
  if (text.length > maxManifestBytes) {
    const problems = [{ origin: path, message: tooLarge }];
    return { path, documents: [{ kind: "refused", problems }] };
  }
  const documents = isJsonText(text)
    ? [parseJson(text)]
    : parseYamlDocuments(text, { areKeysUnique: true });
  const place: StaticPodPlace = {
    nodeName: facts.nodeName,
    origin: { kind: "file", path },
    allowedReferences: "configMapsAndSecrets",
    isResizable: true,
  };
  return {
    path,
    documents: documents.flatMap((document): readonly DocumentPlan[] => {
      if (document.ok) return itemsOf(document.value).map((one) => planDocument(one, place, facts));
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

function planDocument(root: JsonNode, place: StaticPodPlace, facts: PlanFacts): DocumentPlan {
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
  if (pod !== undefined) return planPodDocument(root, pod, facts);
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

function planPodDocument(root: JsonNode, pod: Pod, facts: PlanFacts): DocumentPlan {
  const { status: _, ...asked } = pod;
  const admission = admitPod(asTaken(pod), facts.pods, facts.admission).result;
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
