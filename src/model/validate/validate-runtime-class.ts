import type { RuntimeClass } from "../generated/kubernetes.ts";
import { type FieldError, forbidden, invalidForEach, required } from "./field-error.ts";
import { dnsLabelProblems } from "./names.ts";
import { validateObjectMeta } from "./object-meta.ts";

/** Checks a runtime class of a node without a cluster, where no admission plugin copies its other settings into pods. */
export function validateRuntimeClass(runtimeClass: RuntimeClass): FieldError[] {
  const { metadata = {}, handler, overhead, scheduling } = runtimeClass;
  const errors = validateObjectMeta({ ...metadata, namespace: "default" }, "metadata");
  if (metadata.namespace !== undefined) {
    errors.push(forbidden("metadata.namespace", "not allowed on this type"));
  }
  if (handler === "") errors.push(required("handler"));
  else errors.push(...invalidForEach("handler", handler, dnsLabelProblems(handler)));
  if (overhead !== undefined) {
    errors.push(forbidden("overhead", "without a cluster, set `spec.overhead` of the pods"));
  }
  if (scheduling !== undefined) {
    errors.push(forbidden("scheduling", "without a cluster, pods run on this node or not at all"));
  }
  return errors;
}
