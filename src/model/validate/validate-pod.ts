import type { DecodedPod } from "../defaults/default-pod.ts";
import type { PodSpec } from "../generated/kubernetes.ts";
import { configMirrorAnnotation } from "../pod-source.ts";
import { validateImagePadding } from "./containers.ts";
import { type FieldError, forbidden, invalid } from "./field-error.ts";
import { validateObjectMeta } from "./object-meta.ts";
import { validatePodAnnotations, validateProfileAgreement } from "./pod-annotations.ts";
import { validatePodSpec } from "./pod-spec.ts";

/** Everything that is wrong with a new pod, in the order and words of the API server. */
export function validatePod({ metadata = {}, spec }: DecodedPod): FieldError[] {
  const annotations = metadata.annotations ?? {};
  return [
    ...validateObjectMeta(metadata, "metadata"),
    ...validateMirror(annotations[configMirrorAnnotation], spec),
    ...validatePodAnnotations(annotations, spec, "metadata.annotations"),
    ...validatePodSpec(spec, metadata, "spec"),
    ...validateTokenVolumes(spec),
    ...spec.containers.flatMap((container, index) =>
      validateImagePadding(container, `spec.containers[${index}]`),
    ),
    ...(spec.initContainers ?? []).flatMap((container, index) =>
      validateImagePadding(container, `spec.initContainers[${index}]`),
    ),
    ...((spec.ephemeralContainers ?? []).length > 0
      ? [forbidden("spec.ephemeralContainers", "cannot be set on create")]
      : []),
    ...(spec.nodeName !== undefined && (spec.schedulingGates ?? []).length > 0
      ? [forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")]
      : []),
    ...validateProfileAgreement(annotations, spec, "spec"),
  ];
}

function validateMirror(annotation: string | undefined, spec: PodSpec): FieldError[] {
  if (annotation === undefined || spec.nodeName !== undefined) return [];
  const detail = "must set spec.nodeName if mirror pod annotation is set";
  return [invalid(`metadata.annotations[${configMirrorAnnotation}]`, annotation, detail)];
}

function validateTokenVolumes(spec: PodSpec): FieldError[] {
  if (spec.serviceAccountName !== undefined) return [];
  return (spec.volumes ?? []).flatMap(({ projected }, index) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken }, sourceIndex) =>
      serviceAccountToken === undefined
        ? []
        : [
            forbidden(
              `spec.volumes[${index}].projected.sources[${sourceIndex}].serviceAccountToken`,
              "must not be specified when serviceAccountName is not set",
            ),
          ],
    ),
  );
}
