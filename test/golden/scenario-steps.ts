import type { Json, RecordedAction } from "./recording.ts";

/** What was done in a scenario, or waited for before the next thing was done. */
export type ScenarioStep =
  | { readonly kind: "create"; readonly object: string; readonly name: string }
  | { readonly kind: "delete"; readonly pod: string }
  | {
      readonly kind: "patch";
      readonly pod: string;
      readonly patch: Json;
      readonly isOfStatus: boolean;
    }
  | { readonly kind: "write-manifest" }
  | { readonly kind: "remove-manifest" }
  | { readonly kind: "await"; readonly pod: string; readonly condition: string }
  | { readonly kind: "wait"; readonly seconds: number }
  | { readonly kind: "exec"; readonly command: readonly string[] }
  | { readonly kind: "kill-sandbox" }
  | { readonly kind: "stop-agent" }
  | { readonly kind: "start-agent" };

const PATTERNS: readonly (readonly [
  RegExp,
  (part: readonly string[]) => ScenarioStep | undefined,
])[] = [
  [/^create (\w+) (\S+)$/, ([object = "", name = ""]) => ({ kind: "create", object, name })],
  // Refused by the API server: it never was.
  [/^(?:create|patch) .* -> 4\d\d /, () => undefined],
  [/^(?:write|edit) static manifest/, () => ({ kind: "write-manifest" })],
  [/^remove static manifest$/, () => ({ kind: "remove-manifest" })],
  [/^observed: (\S+) (.+)$/, ([pod = "", condition = ""]) => ({ kind: "await", pod, condition })],
  [/^wait (\d+)s /, ([seconds]) => ({ kind: "wait", seconds: Number(seconds) })],
  [
    /^patch Pod ([^\s/]+)(\/\w+)? (\{.*\})$/,
    ([pod = "", subresource, patch = "{}"]) => ({
      kind: "patch",
      pod,
      patch: JSON.parse(patch) as Json,
      isOfStatus: subresource === "/status",
    }),
  ],
  // Where a grace period was asked for, the API server did not take it: the pod had its own.
  [/^delete Pod (\S+)(?: \{.*\})?$/, ([pod = ""]) => ({ kind: "delete", pod })],
  [/^exec (.+)$/, ([command = ""]) => ({ kind: "exec", command: command.split(" ") })],
  [/^kill the pause process of the sandbox$/, () => ({ kind: "kill-sandbox" })],
  [/^killed \d+$/, () => undefined],
  // What is read from a pod changes nothing of it.
  [/^kubectl /, () => undefined],
  // What the recording's driver waited for in vain.
  [/^TIMEOUT waiting: /, () => ({ kind: "wait", seconds: 60 })],
  [/^stop kubelet/, () => ({ kind: "stop-agent" })],
  [/^start kubelet again/, () => ({ kind: "start-agent" })],
];

/** A step and the second in which it was done. */
export interface TimedStep {
  readonly atSeconds: number;
  readonly step: ScenarioStep;
}

/** The steps of a recording; throws on an action that is not known. */
export function scenarioSteps(actions: readonly RecordedAction[]): readonly TimedStep[] {
  return actions.flatMap(({ t, action }) => {
    for (const [pattern, step] of PATTERNS) {
      const match = pattern.exec(action);
      if (match === null) continue;
      const found = step(match.slice(1));
      return found === undefined ? [] : [{ atSeconds: t, step: found }];
    }
    throw new Error(`unknown action in the recording: ${action}`);
  });
}
