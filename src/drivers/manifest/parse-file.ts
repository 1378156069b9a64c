import { parseJson } from "../../lib/json-parser.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { parseYaml, parseYamlDocuments } from "../../lib/yaml/parse-yaml.ts";
import type {
  ConfigMap,
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  RuntimeClass,
  Secret,
} from "../../model/generated/kubernetes.ts";
import { withoutDocument } from "../../model/manifest/object-kind.ts";
import { parseObjectSet } from "../../model/manifest/object-set.ts";
import type { PlacedProblem } from "../../model/manifest/placed-problem.ts";
import { fileProblemMessage, isJsonText, parsePodText } from "../../model/manifest/pod-text.ts";
import type { Pod } from "../../model/pod.ts";
import type { SourceProblem } from "../../ports/pod-source.ts";

/** The objects of one file that is valid as a whole. */
export interface FileObjects {
  readonly pods: readonly Pod[];
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly runtimeClasses?: readonly RuntimeClass[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly persistentVolumes?: readonly PersistentVolume[];
  readonly csiDrivers?: readonly CSIDriver[];
  /** Fields that do not exist; only where they are let pass. */
  readonly unknownFields?: readonly SourceProblem[];
}

/** How a manifest file is read: as the kubelet reads it, or as `berth up` does. */
export type ManifestMode = "kubelet" | "up";

interface FileText {
  readonly path: string;
  readonly text: string;
}

/** Reads one manifest file; a file with anything wrong in it is refused as a whole. */
export function parseFile(
  file: FileText,
  nodeName: string,
  mode: ManifestMode,
): Result<FileObjects, readonly SourceProblem[]> {
  return mode === "kubelet" ? parsePodFile(file, nodeName) : parseObjectFile(file, nodeName);
}

function parsePodFile(
  { path, text }: FileText,
  nodeName: string,
): Result<FileObjects, readonly SourceProblem[]> {
  const place = { nodeName, origin: { kind: "file", path }, allowedReferences: "none" } as const;
  const parsed = parsePodText(text, place, parseYaml);
  if (parsed.ok) {
    const { pods, unknownFields } = parsed.value;
    return ok({
      pods,
      configMaps: [],
      secrets: [],
      unknownFields: unknownFields.map((problem) => placedProblem(path, problem)),
    });
  }
  const { field, at } = parsed.error;
  const message = withoutDocument(fileProblemMessage(path, parsed.error));
  return err([{ origin: path, ...at, field, message }]);
}

function parseObjectFile(
  { path, text }: FileText,
  nodeName: string,
): Result<FileObjects, readonly SourceProblem[]> {
  const documents = isJsonText(text)
    ? [parseJson(text)]
    : parseYamlDocuments(text, { areKeysUnique: true });
  const syntax = documents.flatMap((document) => (document.ok ? [] : [document.error]));
  if (syntax.length > 0) {
    return err(syntax.map(({ message, at }) => ({ origin: path, ...at, message })));
  }
  const { problems, ...objects } = parseObjectSet(
    documents.flatMap((document) => (document.ok ? [document.value] : [])),
    {
      nodeName,
      origin: { kind: "file", path },
      allowedReferences: "configMapsAndSecrets",
      isResizable: true,
    },
  );
  if (problems.length === 0) return ok(objects);
  return err(problems.map((problem) => placedProblem(path, problem)));
}

function placedProblem(origin: string, { message, field, at }: PlacedProblem): SourceProblem {
  return { origin, ...at, field, message };
}
