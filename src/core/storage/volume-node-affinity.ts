import { joinedErrors } from "../../lib/joined-errors.ts";
import type { PersistentVolume } from "../../model/generated/kubernetes.ts";
import { matchesTerm } from "../admission/node-affinity.ts";
import { nodeSelectorTermProblems } from "../admission/node-selector-problems.ts";

/** Why a persistent volume is none of a node's; undefined when it may be mounted there. */
export function volumeNodeAffinityProblem(
  { spec }: PersistentVolume,
  nodeLabels: Readonly<Record<string, string>>,
): string | undefined {
  const required = spec?.nodeAffinity?.required;
  if (required === undefined) return undefined;
  const terms = required.nodeSelectorTerms ?? [];
  if (terms.some((term) => matchesTerm(term, "", nodeLabels))) return undefined;
  const problems = terms.flatMap((term, index) =>
    nodeSelectorTermProblems(term, `nodeSelectorTerms[${index}]`),
  );
  return problems.length > 0 ? joinedErrors(problems) : "no matching NodeSelectorTerms";
}
