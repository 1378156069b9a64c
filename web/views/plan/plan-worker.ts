// Plans in a thread of its own: what was pasted may be large, and the page goes on meanwhile.
import { errorText } from "../../../src/lib/error-text.ts";
import { type DocumentPlan, planOn, stepText } from "../../../src/library/plan.ts";
import type { PlanAnswer, PlannedDocument, PlanRequest } from "./plan-messages.ts";

const origin = "manifest";
/** More than a page shows. */
const maxProblems = 100;

addEventListener("message", ({ data }: MessageEvent<PlanRequest>) => postMessage(answer(data)));

function answer({ node, pods, text }: PlanRequest): PlanAnswer {
  try {
    const { files } = planOn({ node, pods }, [{ path: origin, text }]);
    return { kind: "planned", documents: files.flatMap(({ documents }) => documents.map(shown)) };
  } catch (error) {
    return { kind: "failed", message: errorText(error) };
  }
}

const nothing = { problems: [], facts: [], changes: [], ignored: [], steps: [] };

function shown(document: DocumentPlan): PlannedDocument {
  switch (document.kind) {
    case "refused":
    case "doubled": {
      const problems = document.problems
        .slice(0, maxProblems)
        .map(({ line, column, field, message }) => ({ line, column, field, message }));
      const title = document.kind === "doubled" ? "Doubled" : "Document";
      return { ...nothing, title, line: problems[0]?.line, verdict: "refused", problems };
    }
    case "pod":
      return shownPod(document);
    case "object": {
      const { type, namespace, name, line, keys } = document;
      const facts = [["Keys", keys.length === 0 ? "none" : keys.join(", ")]] as const;
      return {
        ...nothing,
        title: `${type} ${namespace}/${name}`,
        line,
        verdict: "accepted",
        facts,
      };
    }
    case "runtime-class": {
      const { name, line, handler } = document;
      const facts = [["Handler", handler]] as const;
      return { ...nothing, title: `RuntimeClass ${name}`, line, verdict: "accepted", facts };
    }
    case "storage": {
      const { type, name, line } = document;
      return { ...nothing, title: `${type} ${name}`, line, verdict: "accepted" };
    }
  }
}

function shownPod(document: Extract<DocumentPlan, { readonly kind: "pod" }>): PlannedDocument {
  const { pod, line, qosClass, rejection, changes, ignored, steps } = document;
  const { namespace, name } = pod.metadata;
  const images = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
    ({ name, image = "", imagePullPolicy = "IfNotPresent" }) =>
      [`Container ${name}`, `${image}, pull ${imagePullPolicy}`] as const,
  );
  const because = rejection?.because === undefined ? "" : ` (${rejection.because})`;
  return {
    title: `Pod ${namespace}/${name}`,
    line,
    verdict: rejection === undefined ? "accepted" : "rejected",
    problems:
      rejection === undefined
        ? []
        : [{ message: `${rejection.reason}: ${rejection.message}${because}` }],
    facts: [
      ["QoS class", qosClass],
      ["Restart policy", pod.spec.restartPolicy ?? "Always"],
      ...images,
    ],
    changes: changes.map(({ field, from, to }) => ({
      field,
      to: valueText(to),
      from: from === undefined ? "" : valueText(from),
    })),
    ignored: ignored.map(({ field, reason }) => ({ field, reason })),
    steps:
      rejection === undefined
        ? steps.map((step) => ({ what: stepText(step), because: step.because }))
        : [],
  };
}

const maxValue = 300;

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > maxValue ? `${text.slice(0, maxValue)}…` : text;
}
