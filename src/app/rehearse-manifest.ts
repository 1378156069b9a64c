// What the running agent says of a manifest's pods: whether they are taken now, and what their containers get for themselves.
import { exclusiveCpuCount } from "../core/devices/cpu/exclusive-cpus.ts";
import type { DocumentPlan, FilePlan, ManifestPlan } from "../core/plan/manifest-plan.ts";
import { asTaken } from "../core/plan/plan-manifests.ts";
import type { RehearsedPod } from "../model/holding.ts";
import { type Pod, podContainers } from "../model/pod.ts";
import { isExtendedResource } from "../model/validate/resource-names.ts";

export interface PlanAgent {
  rehearse(pods: readonly Pod[]): Promise<readonly RehearsedPod[]>;
}

/** `agent`: undefined = none runs; then it is said which pods have parts of which nothing is known. */
export async function rehearseManifest(
  plan: ManifestPlan,
  agent: PlanAgent | undefined,
): Promise<ManifestPlan> {
  const pods = plan.files.flatMap((file) => podsOf(file));
  const answers =
    agent === undefined || pods.length === 0 ? [] : await agent.rehearse(pods.map(asTaken));
  const answerOf = new Map(answers.map((answer, index) => [pods[index], answer]));
  const files = plan.files.map((file) => ({
    ...file,
    documents: file.documents.map((document) =>
      document.kind === "pod" ? withAnswer(document, answerOf.get(document.pod)) : document,
    ),
  }));
  return { ...plan, files };
}

/** Nothing of a file runs that is refused in part. */
function podsOf({ documents }: FilePlan): Pod[] {
  if (documents.some(({ kind }) => kind === "refused")) return [];
  return documents.flatMap((document) => (document.kind === "pod" ? [document.pod] : []));
}

type PodDocument = Extract<DocumentPlan, { readonly kind: "pod" }>;

function withAnswer(document: PodDocument, answer: RehearsedPod | undefined): PodDocument {
  const isAsking = asksForItself(document.pod);
  if (answer === undefined) {
    const because = "no agent answers here, and only it knows what is left and near what";
    return isAsking ? { ...document, allotment: { kind: "unknown", because } } : document;
  }
  const { refusal, holdings, makesRoom } = answer;
  const isShown = isAsking || holdings.length > 0 || makesRoom.length > 0;
  const allotment = isShown ? ({ kind: "known", holdings, makesRoom } as const) : undefined;
  return { ...document, rejection: refusal, allotment };
}

/** Whether a container asks for what some nodes hand out for it alone. */
function asksForItself(pod: Pod): boolean {
  return podContainers(pod).some(
    ({ container }) =>
      exclusiveCpuCount(pod, container) > 0 ||
      Object.keys(container.resources?.limits ?? {}).some(isExtendedResource),
  );
}
