import { deepEqual } from "../../lib/deep-equal.ts";
import { refusedUses } from "../fields/refused-uses.ts";
import type { EphemeralContainer } from "../generated/kubernetes.ts";
import type { Pod } from "../pod.ts";
import { type FieldError, forbidden } from "./field-error.ts";
import { validatePodSpec } from "./pod-spec.ts";

const field = "spec.ephemeralContainers";

/** Everything that is wrong with a new list of ephemeral containers of a pod: it may only grow. */
export function validateEphemeralUpdate(
  pod: Pod,
  containers: readonly EphemeralContainer[],
): FieldError[] {
  const spec = { ...pod.spec, ephemeralContainers: containers };
  const errors = [
    ...validatePodSpec(spec, pod.metadata, "spec"),
    ...(pod.spec.ephemeralContainers ?? []).flatMap((before) => {
      const after = containers.find(({ name }) => name === before.name);
      const what = `existing ephemeral containers "${before.name}" may not be`;
      if (after === undefined) return [forbidden(field, `${what} removed`)];
      return deepEqual(before, after) ? [] : [forbidden(field, `${what} changed`)];
    }),
  ];
  if (errors.length > 0) return errors;
  return refusedUses(spec, "strict")
    .filter(({ path }) => path.startsWith(field))
    .map(({ path, reason }) => forbidden(path, reason));
}
