import { parsePodScript } from "../drivers/sim/pod-script.ts";
import { type Pod, podKey } from "../model/pod.ts";
import type { SourceProblem } from "../ports/pod-source.ts";

/** Why a simulated node would refuse the pod. */
export function scriptProblems(pod: Pod): readonly SourceProblem[] {
  const script = parsePodScript(pod);
  return script.ok ? [] : script.error.map((problem) => scriptProblem(pod, problem));
}

function scriptProblem(
  pod: Pod,
  { annotation, message }: { readonly annotation: string; readonly message: string },
): SourceProblem {
  return {
    origin: `pod ${podKey(pod)}`,
    field: `metadata.annotations[${annotation}]`,
    message: `the pod is refused: ${message}`,
  };
}
