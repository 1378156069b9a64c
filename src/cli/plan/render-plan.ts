import type { DocumentPlan, FilePlan, ManifestPlan } from "../../app/plan-manifest.ts";
import { isSidecar, podContainers } from "../../model/pod.ts";
import { type Paint, painter, printable } from "../output/colour.ts";
import { holdingText } from "../output/holding-text.ts";
import { problemText } from "../output/problem-text.ts";
import { alignColumns } from "../output/table.ts";

type PodDocument = Extract<DocumentPlan, { readonly kind: "pod" }>;
type StepPlan = PodDocument["steps"][number];

/** A manifest's plan for a person to read. */
export function renderPlan(
  { files, ignored }: ManifestPlan,
  paint: Paint = painter(false),
): string {
  const lines = files.flatMap((file) => fileLines(file, paint));
  const hidden = ignored.map((path) => `${path}: ignored, for its name is not that of a manifest`);
  const nothing = files.length === 0 ? ["no manifests here"] : [];
  return `${[...nothing, ...lines, ...hidden].join("\n")}\n`;
}

/** Whether every document would run here. */
export function isAccepted({ files }: ManifestPlan): boolean {
  return files
    .flatMap(({ documents }) => documents)
    .every((one) => (one.kind === "pod" ? one.rejection === undefined : !("problems" in one)));
}

function fileLines({ path, documents }: FilePlan, paint: Paint): string[] {
  const isSpoilt = documents.length > 1 && documents.some(({ kind }) => kind === "refused");
  return [
    paint("bold", path),
    ...(documents.length === 0 ? ["  empty"] : []),
    ...documents.flatMap((document) => [...documentLines(document, paint), ""]),
    ...(isSpoilt ? ["  Nothing of this file runs until every document in it is right.", ""] : []),
  ];
}

function documentLines(document: DocumentPlan, paint: Paint): string[] {
  switch (document.kind) {
    case "refused":
    case "doubled":
      return [
        `  ${paint("red", "refused")}`,
        ...document.problems.map((problem) => `    ${problemText(problem)}`),
      ];
    case "object":
      return [
        `  line ${document.line}: ${paint("green", "accepted")} ${document.type} ${document.namespace}/${document.name}`,
        `    keys: ${document.keys.length === 0 ? "none" : document.keys.join(", ")}`,
      ];
    case "runtime-class":
      return [
        `  line ${document.line}: ${paint("green", "accepted")} RuntimeClass ${document.name}`,
        `    handler: ${document.handler}`,
      ];
    case "storage":
      return [
        `  line ${document.line}: ${paint("green", "accepted")} ${document.type} ${document.name}`,
      ];
    case "pod":
      return podLines(document, paint);
    default:
      return document satisfies never;
  }
}

function podLines(document: PodDocument, paint: Paint): string[] {
  const { pod, line, qosClass, rejection, changes, ignored, steps } = document;
  const { namespace, name, uid } = pod.metadata;
  const verdict =
    rejection === undefined
      ? paint("green", "accepted")
      : `${paint("red", "rejected")}: ${rejection.reason}: ${rejection.message}`;
  return [
    `  line ${line}: ${verdict}${rejection === undefined ? ` Pod ${namespace}/${name}` : ""}`,
    ...(rejection?.because === undefined ? [] : [`    because ${printable(rejection.because)}`]),
    ...alignColumns([
      ["    namespace", namespace],
      ["    name", name],
      ["    uid", uid],
      ["    QoS class", qosClass],
      ["    restarts", pod.spec.restartPolicy ?? "Always"],
    ]),
    "    images:",
    ...alignColumns(
      podContainers(pod).map(({ kind, container }) => [
        `      ${container.name}`,
        kind === "init" && isSidecar(container) ? "sidecar" : kind,
        container.image ?? "",
        `pull ${container.imagePullPolicy ?? "IfNotPresent"}`,
      ]),
    ),
    "    filled in or changed:",
    ...alignColumns(
      changes.map(({ field, from, to }) => [
        `      ${field}`,
        `${JSON.stringify(to)}${from === undefined ? "" : ` (the file says ${JSON.stringify(from)})`}`,
      ]),
    ),
    ...(ignored.length === 0 ? [] : ["    without effect:"]),
    ...alignColumns(ignored.map(({ field, reason }) => [`      ${field}`, reason])),
    ...allotmentLines(document),
    ...(rejection === undefined ? stepLines(steps) : []),
  ];
}

function allotmentLines({ allotment, rejection }: PodDocument): string[] {
  if (allotment === undefined || rejection !== undefined) return [];
  const title = "    for its containers alone:";
  if (allotment.kind === "unknown") return [title, `      unknown: ${allotment.because}`];
  const { holdings, makesRoom } = allotment;
  const none = "      nothing: this node hands out nothing of the kind (berth describe node)";
  return [
    ...(makesRoom.length === 0
      ? []
      : [`    ends to make room for it: ${printable(makesRoom.join(", "))}`]),
    title,
    ...(holdings.length === 0 ? [none] : holdings.map((held) => `      ${holdingText(held)}`)),
  ];
}

function stepLines(steps: readonly StepPlan[]): string[] {
  return [
    "    steps, if each succeeds:",
    ...steps.flatMap((step, index) => [
      `      ${index + 1}. ${stepText(step)}`,
      `         because ${printable(step.because)}`,
    ]),
  ];
}

/** What a step does, in a few words. */
export function stepText(step: StepPlan): string {
  switch (step.kind) {
    case "create-sandbox":
      return "create the sandbox";
    case "start-init":
      return `start init container ${step.name}`;
    case "start-container":
      return `start container ${step.name}`;
    case "start-ephemeral":
      return `start ephemeral container ${step.name}`;
    case "kill-container":
    case "reset-container":
      return `stop container ${step.name}`;
    case "remove-container":
      return `remove container ${step.name}`;
    case "stop-sandbox":
      return "stop the sandbox";
    case "remove-sandbox":
      return "remove the sandbox";
    case "wait":
      return `wait to start container ${step.name}`;
    case "kill-pod":
      return "stop the pod";
    case "resize":
      return "resize the pod";
    default:
      return step satisfies never;
  }
}
