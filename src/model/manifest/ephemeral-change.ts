import { parseJson } from "../../lib/json-parser.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { defaultContainer } from "../defaults/default-container.ts";
import type { EphemeralContainer } from "../generated/kubernetes.ts";
import type { Pod } from "../pod.ts";
import { decodeObject } from "./decode-object.ts";
import { unknownFieldProblem } from "./placed-problem.ts";

/** How a request's body changes the list of a pod's ephemeral containers. */
export type EphemeralChangeKind = "replace" | "merge-by-name";

/** Reads the body, a pod or a part of one; returns the whole new list, with all defaults. */
export function parseEphemeralChange(
  pod: Pod,
  kind: EphemeralChangeKind,
  text: string,
): Result<readonly EphemeralContainer[], string> {
  const root = parseJson(text);
  if (!root.ok) return err(`the body is not JSON: ${root.error.message}`);
  const { value, problem, unknownFields } = decodeObject("Pod", root.value);
  if (problem !== undefined) return err(problem.message);
  // The order of a list is of no consequence here; any other directive would be.
  const unknown = unknownFields.find(({ name }) => !name.startsWith("$setElementOrder/"));
  if (unknown !== undefined) return err(unknownFieldProblem(unknown).message);
  const { spec } = value as { readonly spec?: Partial<Pod["spec"]> | undefined };
  const given = spec?.ephemeralContainers;
  if (given === undefined && kind === "replace") return err("spec.ephemeralContainers is missing");
  const before = pod.spec.ephemeralContainers ?? [];
  const list = kind === "replace" ? (given ?? []) : mergeByName(before, given ?? []);
  return ok(list.map((container) => defaultContainer(container)));
}

function mergeByName(
  before: readonly EphemeralContainer[],
  given: readonly EphemeralContainer[],
): readonly EphemeralContainer[] {
  const added = given.filter(({ name }) => !before.some((other) => other.name === name));
  const merged = before.map((container) => {
    const change = given.find(({ name }) => name === container.name);
    return change === undefined ? container : { ...container, ...withoutAbsent(change) };
  });
  return [...merged, ...added];
}

function withoutAbsent(container: EphemeralContainer): Partial<EphemeralContainer> {
  return Object.fromEntries(Object.entries(container).filter(([, value]) => value !== undefined));
}
